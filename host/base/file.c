/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/times.h"

enum { CHUNK = 64 * 1024 };

int file_read(const char *path, size_t most, struct buf *out, struct fail *why) {
    buf_reset(out);
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    for (ssize_t n = 1; n && fd >= 0 && out->len <= most;) {
        if (!buf_reserve(out, CHUNK))
            return fail_set(why, TL_FAILED, "cannot read %.500s: it is too large", path);
        n = read(fd, out->data + out->len, CHUNK);
        if (n < 0 && errno == EINTR) {
            n = 1;
            continue;
        }
        if (n < 0)
            return fail_errno(why, TL_FAILED, "cannot read %.500s", path);
        out->len += (size_t)n;
        out->data[out->len] = '\0';
    }
    if (fd < 0)
        return fail_errno(why, TL_FAILED, "cannot open %.500s", path);
    char size[TIME_TEXT];
    time_size_text((int64_t)most, size);
    return out->len > most ? fail_set(why, TL_FAILED, "cannot read %.500s: it is larger than %s", path, size) : TL_OK;
}
