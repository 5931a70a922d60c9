/* react_crash - collects well and dies when it is told about its own document. */
#include <trotline.h>

static const struct tl_dataset datasets[] = {{"text", TL_SIMPLE, NULL, "a few words"}, {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    static const char text[] = "all is well";
    (void)self, (void)given;
    return tl_put(run, "text",
                  TL_ELEMENT(.data = {text, sizeof text - 1}, .media_type = "text/plain",
                             .data_url = "https://react-crash.example/"));
}

static int react(void *self, struct tl_run *run, const struct tl_document *document, const void *given) {
    volatile int *volatile nowhere = NULL;
    (void)self, (void)run, (void)document, (void)given;
    *nowhere = 1;
    return TL_OK;
}
TL_COLLECTOR(.name = "react_crash", .version = "1.0.0", .summary = "dies of SIGSEGV in react", .datasets = datasets,
             .collect = collect, .react = react);
