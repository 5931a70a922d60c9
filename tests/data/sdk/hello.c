/* hello.c - a collector as its author would write one: out of tree, with nothing but the installed header. It asks for
 * no page; each run puts a greeting, and its reaction asks for the next one until none is left. */
#include <stdio.h>
#include <string.h>
#include <trotline.h>

struct options {
    const char *word;
};
static const struct tl_option options[] = {
    {"word", TL_TEXT, 0, offsetof(struct options, word), "hello", "hello|good morning", "how to greet"}, {0}};

struct args {
    const char *whom;
    int64_t left;
};
static const struct tl_option arguments[] = {
    {"whom", TL_TEXT, TL_REQUIRED, offsetof(struct args, whom), NULL, NULL, "who is greeted"},
    {"left", TL_INT, 0, offsetof(struct args, left), "0", NULL, "greetings that follow this one"},
    {0}};
static const struct tl_dataset datasets[] = {{"greeting", TL_SIMPLE, "text", "what was said"}, {0}};

static int open_hello(const struct tl_host *host, const void *given, void **self) {
    (void)host;
    *self = (void *)(uintptr_t)((const struct options *)given)->word;
    return TL_OK;
}

static int collect(void *self, struct tl_run *run, const void *arg) {
    const struct args *a = arg;
    size_t room = strlen(self) + strlen(a->whom) + 40;
    char *text = tl_alloc(run, room);
    if (!text)
        return tl_fail(run, TL_FAILED, "the name is too long");
    int n = snprintf(text, room, "%s %s, %d left", (const char *)self, a->whom, (int)a->left);
    return tl_put(run, "greeting", TL_ELEMENT(.data = {text, (size_t)n}, .media_type = "text/plain"));
}

static int react(void *self, struct tl_run *run, const struct tl_document *doc, const void *arg) {
    const struct args *a = arg;
    struct tl_element greeting = TL_ELEMENT_INIT;
    (void)self;
    if (a->left == 0 || run->host->element(run, doc, "greeting", 0, &greeting) != TL_OK || greeting.data.len == 0)
        return TL_OK;
    return tl_spawn(run, TL_CHILD(.flags = TL_SAME, TL_ARGS(TL_ARG_INT("left", a->left - 1))));
}

TL_COLLECTOR(.name = "hello", .version = "1.0.0", .summary = "greets", .options = options,
             .options_size = sizeof(struct options), .arguments = arguments, .arguments_size = sizeof(struct args),
             .datasets = datasets, .open = open_hello, .collect = collect, .react = react);
