/* typed - one argument and one option of every type, for the tests of describing, checking and filling in. */
#include <stddef.h>
#include <trotline.h>

struct args {
    const char *text, *choice, *url, *json;
    int64_t number, size, wait;
    bool flag;
    const struct tl_secret *token;
    struct tl_list words, links;
};
#define AT(f) offsetof(struct args, f)
static const struct tl_option arguments[] = {
    {"url", TL_URL, TL_REQUIRED, AT(url), NULL, NULL, "where to start"},
    {"text", TL_TEXT, 0, AT(text), NULL, NULL, "any text, \"quoted\", caf\xc3\xa9"},
    {"choice", TL_TEXT, 0, AT(choice), "a", "a|b-c|d", "one of three"},
    {"number", TL_INT, 0, AT(number), "-5", NULL, NULL},
    {"size", TL_BYTES, 0, AT(size), "64KiB", NULL, NULL},
    {"wait", TL_MILLIS, 0, AT(wait), "90s", NULL, NULL},
    {"flag", TL_BOOL, 0, AT(flag), "true", NULL, NULL},
    {"token", TL_SECRET, 0, AT(token), NULL, NULL, "name of the secret to send"},
    {"words", TL_TEXT, TL_LIST, AT(words), "[page, text, \"a, b\"]", NULL, NULL},
    {"links", TL_URL, TL_LIST, AT(links), NULL, NULL, NULL},
    {"json", TL_JSON, 0, AT(json), "{a: [1, 2.50]}", NULL, NULL},
    {0}};
static const struct tl_dataset datasets[] = {{"one", TL_SIMPLE, "a,b", "a single value"},
                                             {"many", TL_PAGED, NULL, NULL},
                                             {"pairs", TL_KEY_VALUE, NULL, NULL},
                                             {0}};
static const char *const programs[] = {"git", NULL}, *const hosts[] = {"api.example.org", "*.example.net:8443", NULL};

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "typed", .version = "1.2.3", .summary = "one of everything", .arguments = arguments,
             .options = arguments, .arguments_size = sizeof(struct args), .options_size = sizeof(struct args),
             .datasets = datasets, .programs = programs, .hosts = hosts, .collect = collect);
