/* refuse_field - an argument that lies behind the end of its struct. */
#include <stddef.h>
#include <trotline.h>

struct args {
    int64_t first, second;
};
static const struct tl_option arguments[] = {{"second", TL_INT, 0, offsetof(struct args, second), NULL, NULL, NULL},
                                             {0}};

static int collect(void *self, struct tl_run *run, const void *given) {
    (void)self, (void)run, (void)given;
    return TL_OK;
}
TL_COLLECTOR(.name = "refuse_field", .version = "1.0.0", .arguments = arguments, .arguments_size = sizeof(int64_t),
             .collect = collect);
