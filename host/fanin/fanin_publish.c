/* fanin_publish.c - the documents on disk.
 *
 * Invariant: a name shows its old text or the whole of the new one, whenever the process dies. Unfinished files begin
 * with a dot, have one name each, and are overwritten by the next merge into the folder, which waits for the lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "fanin/fanin_inside.h"

enum { NAME_TEXT = 80 };

static int broken(struct fail *why, const char *attempt, const char *folder, const char *name) {
    int rc = fail_errno(why, TL_FAILED, "cannot %s %.400s/%.80s", attempt, folder, name);
    if (why)
        why->exit_code = EXIT_DISK;
    return rc;
}

static void unfinished(const char *name, char out[NAME_TEXT]) {
    snprintf(out, NAME_TEXT, ".%.60s.partial", name);
}

static int write_all(int fd, struct tl_span text) {
    while (text.len) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return TL_FAILED;
        text = (struct tl_span){text.ptr + n, text.len - (size_t)n};
    }
    return TL_OK;
}

static int stage(int at, const char *folder, const char *name, struct tl_span text, struct fail *why) {
    char partial[NAME_TEXT];
    unfinished(name, partial);
    unlinkat(at, partial, 0);
    AUTO_CLOSE int fd = openat(at, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write_all(fd, text) || fsync(fd)) {
        broken(why, "write", folder, name);
        unlinkat(at, partial, 0);
        return TL_FAILED;
    }
    return TL_OK;
}

static int finish(int at, const char *folder, const char *name, struct fail *why) {
    char partial[NAME_TEXT];
    unfinished(name, partial);
    return renameat(at, partial, at, name) ? broken(why, "write", folder, name) : TL_OK;
}

static int open_folder(const char *folder, int *at, struct fail *why) {
    if (mkdir(folder, 0755) && errno != EEXIST)
        return broken(why, "make the folder", folder, "");
    *at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*at < 0)
        return broken(why, "open the folder", folder, "");
    while (flock(*at, LOCK_EX))
        if (errno != EINTR)
            return broken(why, "lock the folder", folder, "");
    return TL_OK;
}

int fanin_publish(const struct fanin *f, const char *folder, struct fail *why) {
    char news[NAME_TEXT], github[NAME_TEXT], diagnostics[NAME_TEXT];
    AUTO_CLOSE int at = -1;
    snprintf(news, sizeof news, "%s-external-news.json", f->context->week_text);
    snprintf(github, sizeof github, "%s.json", f->context->week_text);
    snprintf(diagnostics, sizeof diagnostics, "diagnostics-%s.json", f->context->run_id);
    int rc = open_folder(folder, &at, why);
    if (rc)
        return rc;
    if (f->closed.count) {
        rc = stage(at, folder, diagnostics, buf_span(&f->diagnostics), why);
        if (!rc)
            rc = finish(at, folder, diagnostics, why);
    } else {
        rc = stage(at, folder, github, buf_span(&f->github_json), why);
        if (!rc)
            rc = stage(at, folder, news, buf_span(&f->news_json), why);
        FAULT_POINT("fanin-staged");
        if (!rc)
            rc = finish(at, folder, github, why);
        FAULT_POINT("fanin-between");
        if (!rc)
            rc = finish(at, folder, news, why);
        if (!rc)
            unlinkat(at, diagnostics, 0);
    }
    return !rc && fsync(at) ? broken(why, "write", folder, "") : rc;
}
