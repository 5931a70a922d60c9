/* config_declared.c - folders with declarations, one to a file NAME.yml: read in the order of their names. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/config_schema.h"

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_declaration(const char *name) {
    size_t n = strlen(name);
    return name[0] != '.' && n > 4 && strcmp(name + n - 4, ".yml") == 0;
}

int config_declared(const char *folder, const char *key, size_t most,
                    int (*take)(void *ctx, const char *path, const struct tl_span *text, struct fail *why), void *ctx,
                    struct fail *why) {
    DIR *d = opendir(folder);
    char **names = NULL;
    size_t count = 0, room = 0;
    int rc = TL_OK;
    if (!d) {
        fail_errno(why, TL_INVALID, "%s: cannot read the folder %s", key, folder);
        why->exit_code = EXIT_CONFIG;
        return TL_INVALID;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL && count <= most;)
        if (is_declaration(e->d_name)) {
            MEM_GROW(names, count, room);
            names[count++] = mem_text(e->d_name);
        }
    closedir(d);
    if (count)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        AUTO_BUF struct buf path = BUF_INIT, text = BUF_INIT;
        buf_printf(&path, "%s/%s", folder, names[i]);
        if (!rc) {
            bool readable = config_read(path.data, &text, why) == TL_OK;
            rc = take(ctx, path.data, readable ? &(struct tl_span){text.data, text.len} : NULL, why);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}
