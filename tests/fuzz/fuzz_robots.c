/* fuzz_robots.c - any bytes as a robots.txt; its last line is also the path that is asked for. */
#include <stdlib.h>

#include "net/robots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AUTO_BUF struct buf path = BUF_INIT;
    struct tl_span body = {(const char *)data, size}, last = body;
    struct robots *r;

    const char *line = size ? memrchr(body.ptr, '\n', body.len) : NULL;
    if (line)
        last = (struct tl_span){line + 1, (size_t)(body.ptr + body.len - line - 1)};
    if (robots_parse(body, "trotline/1.0", &r) != 0)
        abort();
    robots_path(&path, last);
    robots_allowed(r, buf_span(&path));
    robots_allowed(r, last);
    if (robots_delay_ms(r) < -1)
        abort();
    for (size_t i = 0; i < robots_sitemap_count(r); i++)
        if (robots_sitemap(r, i).len == 0)
            abort();
    robots_free(r);
    return 0;
}
