/* cache_folder.c - see cache_folder.h. */
#include "engine/cache_folder.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/mem.h"

char *cache_folder(const char *otherwise, const char *collector) {
    AUTO_BUF struct buf path = BUF_INIT;
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && *base == '/')
        buf_printf(&path, "%s/trotline/collectors", base);
    else
        buf_printf(&path, "%s/.cache/trotline/collectors", home && *home == '/' ? home : otherwise);
    buf_printf(&path, "/%s", collector);
    for (char *c = path.data + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(path.data, 0700);
            *c = '/';
        }
    mkdir(path.data, 0700);
    return mem_text(path.data);
}
