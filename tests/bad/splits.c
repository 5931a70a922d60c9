/* splits - converts its documents itself: an item for each line of what it collected; or, when asked for, in a way that
 * no host should suffer from. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <trotline.h>

struct args {
    const char *text, *how;
};
static const struct tl_option arguments[] = {
    {"text", TL_TEXT, TL_REQUIRED, offsetof(struct args, text), NULL, NULL, "what is collected: lines"},
    {"how", TL_TEXT, 0, offsetof(struct args, how), "lines",
     "lines|default|fail|crash|spin|exit|invalid|babble|pages|pairs", "how convert goes on"},
    {0}};
static const struct tl_dataset datasets[] = {
    {"lines", TL_SIMPLE, "splits", "the text"}, {"how", TL_SIMPLE, NULL, "how convert goes on"}, {0}};

static int collect(void *self, struct tl_run *run, const void *arg) {
    const struct args *a = arg;
    (void)self;
    int rc = tl_put(run, "lines",
                    TL_ELEMENT(.data = {a->text, strlen(a->text)}, .media_type = "text/plain", .data_url = "splits:x"));
    return rc ? rc : tl_put(run, "how", TL_ELEMENT(.data = {a->how, strlen(a->how)}, .media_type = "text/plain"));
}

static int each_line(struct tl_run *run, const struct tl_element *lines, const char *how) {
    char key[32];
    struct tl_span rest = lines->data;
    int rc = TL_OK;
    for (int64_t n = 1; !rc && rest.len; n++) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.ptr) : rest.len, step = end ? len + 1 : len;
        struct tl_element e = *lines;
        e.data = (struct tl_span){rest.ptr, len};
        e.metadata = "{\"from\":\"splits\",\"big\":9007199254740993}";
        snprintf(key, sizeof key, "line %lld", (long long)n);
        if (strcmp(how, "pages") == 0)
            e.page_number = n;
        if (strcmp(how, "pairs") == 0)
            e.key = e.id = key;
        rc = run->host->item(run, &e);
        rest.ptr += step;
        rest.len -= step;
    }
    return rc;
}

static int misbehave(struct tl_run *run, const struct tl_element *lines, const char *how) {
    struct tl_element e = *lines;
    if (strcmp(how, "fail") == 0)
        return tl_fail(run, TL_FAILED, "cannot read its own lines");
    if (strcmp(how, "crash") == 0)
        raise(SIGSEGV);
    if (strcmp(how, "exit") == 0)
        raise(SIGKILL);
    while (strcmp(how, "spin") == 0) {
    }
    if (strcmp(how, "invalid") == 0) {
        e.metadata = "[1, 2";
        return run->host->item(run, &e);
    }
    while (strcmp(how, "babble") == 0)
        run->host->item(run, &e);
    return TL_OK;
}

static int convert(void *self, struct tl_run *run, const struct tl_document *doc) {
    struct tl_element lines = TL_ELEMENT_INIT, how = TL_ELEMENT_INIT;
    char word[16] = "";
    (void)self;
    if (run->host->element(run, doc, "how", 0, &how) == TL_OK && how.data.len < sizeof word)
        memcpy(word, how.data.ptr, how.data.len);
    int rc = run->host->element(run, doc, "lines", 0, &lines);
    if (rc)
        return TL_OK; /* a run without a result: nothing to convert */
    rc = misbehave(run, &lines, word);
    return rc ? rc : each_line(run, &lines, word);
}

TL_COLLECTOR(.name = "splits", .version = "1.0.0", .summary = "converts its documents itself", .arguments = arguments,
             .arguments_size = sizeof(struct args), .datasets = datasets, .collect = collect, .convert = convert);
