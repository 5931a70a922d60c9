/* secret.c - see secret.h. */
#include "engine/secret.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"

static int check(const struct config_secret *secret, struct buf *out, struct fail *why) {
    while (out->len && (out->data[out->len - 1] == '\n' || out->data[out->len - 1] == '\r'))
        out->data[--out->len] = '\0';
    for (size_t i = 0; i < out->len; i++)
        if ((unsigned char)out->data[i] < 0x20)
            return fail_exit(why, TL_INVALID, EXIT_CONFIG,
                             "secret '%s' holds control characters: it could break out of a header", secret->name);
    return out->len && !out->full ? TL_OK
                                  : fail_exit(why, TL_NOTFOUND, EXIT_CONFIG, "secret '%s' is empty, or over %d KiB",
                                              secret->name, SECRET_MAX / 1024);
}

int secret_read(const struct config_secret *secret, struct buf *out, struct fail *why) {
    if (secret->env) {
        const char *value = getenv(secret->env);
        if (!value)
            return fail_exit(why, TL_NOTFOUND, EXIT_CONFIG, "secret '%s': the environment has no %s", secret->name,
                             secret->env);
        buf_text(out, value);
        return check(secret, out, why);
    }
    AUTO_CLOSE int fd = open(secret->file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return fail_errno(why, TL_NOTFOUND, "secret '%s': cannot open %s", secret->name, secret->file);
    if (!S_ISREG(st.st_mode) || (st.st_mode & 07))
        return fail_exit(why, TL_INVALID, EXIT_CONFIG, "secret '%s': others can read %s; chmod o-rwx it", secret->name,
                         secret->file);
    char block[4096];
    ssize_t n;
    while ((n = read(fd, block, sizeof block)) > 0 && !out->full)
        buf_add(out, block, (size_t)n);
    return n < 0 ? fail_errno(why, TL_FAILED, "secret '%s': cannot read %s", secret->name, secret->file)
                 : check(secret, out, why);
}
