/* newer - built for a later minor version, whose struct has grown by fields that we do not know. It must load. */
#include <trotline.h>

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}

static const struct {
    struct tl_collector known;
    const char *later[4];
} collector = {{.struct_size = sizeof collector,
                .abi_major = TL_ABI_MAJOR,
                .abi_minor = TL_ABI_MINOR + 5,
                .name = "newer",
                .version = "9.9.9",
                .summary = "from the future",
                .collect = collect},
               {"later", "fields", "unknown", "here"}};

TL_EXPORT const struct tl_collector *trotline_collector_v1(void);
const struct tl_collector *trotline_collector_v1(void) {
    return &collector.known;
}
