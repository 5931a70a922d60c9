/* mirror.c - the copy of a repository in the cache folder, and what git makes of it.
 *
 * One run at a time has a mirror, by a lock that dies with it; whoever had it before may have died in the middle, so
 * locks of git that are found are nobody's. Git is given no configuration but ours, no terminal, and of protocols only
 * the one of the URL; a token goes to the URL's origin alone, by way of a variable and a helper that git asks. Nothing
 * here decides what is backed up: what is lost here is fetched again. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gitbackup.h"

enum { ENV = 48, ARGS = 24, LOCK_WAIT_MS = 200, SAID_MOST = 2000 };
#define TOKEN_VARIABLE "TROTLINE_GIT_TOKEN"

const char *mirror_file(const struct mirror *m, const char *ending) {
    return text_format(m->run, "%s%s", m->key, ending);
}

const char *mirror_path(const struct mirror *m, const char *ending) {
    const char *dir = tl_cache_dir(m->run);
    return dir ? text_format(m->run, "%s/%s%s", dir, m->key, ending) : NULL;
}

/* ---- one at a time */

static void unlock(void *ctx) {
    close(*(int *)ctx);
}

static void name_it(struct mirror *m) {
    const struct repository *r = m->repository;
    const char *const part[] = {m->origin, r->owner, r->id ? r->id : r->clone_url, r->is_wiki ? "wiki" : ""};
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        for (const char *c = part[i];; c++) {
            unsigned char small = (unsigned char)(i == 1 && *c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
            hash = (hash ^ small) * 1099511628211u;
            if (!*c)
                break;
        }
    snprintf(m->key, sizeof m->key, "%016llx", (unsigned long long)hash);
}

int mirror_open(struct mirror *m) {
    name_it(m);
    m->git = mirror_file(m, ".git");
    const char *path = mirror_path(m, ".lock");
    int *kept = tl_alloc(m->run, sizeof *kept);
    if (!m->git || !path || !kept)
        return tl_fail(m->run, TL_FAILED, "there is no cache folder to keep the mirror of %s in",
                       m->repository->full_name);
    m->lock = *kept = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (m->lock < 0)
        return tl_fail(m->run, TL_FAILED, "cannot make %s (errno %d)", path, errno);
    tl_defer(m->run, unlock, kept);
    while (flock(m->lock, LOCK_EX | LOCK_NB)) {
        int rc = errno == EWOULDBLOCK || errno == EINTR
                     ? tl_sleep(m->run, LOCK_WAIT_MS)
                     : tl_fail(m->run, TL_FAILED, "cannot lock %s (errno %d)", path, errno);
        if (rc)
            return rc;
    }
    char text[24] = "";
    ssize_t n = pread(m->lock, text, sizeof text - 1, 0);
    m->last_s = n > 0 ? strtoll(text, NULL, 10) : 0;
    return TL_OK;
}

int mirror_now(struct mirror *m, int64_t *at_us) {
    enum { SECOND = 1000000, AHEAD_MOST = 60 };
    int64_t now = m->run->host->now_us(m->run) / SECOND;
    if (m->last_s > now + AHEAD_MOST) /* the clock was set back */
        m->last_s = 0;
    while (now <= m->last_s) {
        int rc = tl_sleep(m->run, 100);
        if (rc)
            return rc;
        now = m->run->host->now_us(m->run) / SECOND;
    }
    char text[24];
    int n = snprintf(text, sizeof text, "%lld\n", (long long)now);
    if (pwrite(m->lock, text, (size_t)n, 0) != n)
        return tl_fail(m->run, TL_FAILED, "cannot write into the cache folder (errno %d)", errno);
    m->last_s = now;
    *at_us = now * SECOND;
    return TL_OK;
}

/* ---- git */

/* As GIT_CONFIG_COUNT and so on: neither in a file nor in an argument. */
static size_t configure(const struct mirror *m, const char **env, size_t n) {
    struct tl_run *run = m->run;
    bool web = strncmp(m->url, "http", 4) == 0;
    const char *const pair[][2] = {
        {"safe.directory", "*"},
        {"core.hooksPath", "/dev/null"},
        {"gc.auto", "0"},
        {"maintenance.auto", "false"},
        {"core.fsync", "none"},
        {"http.followRedirects", "false"},
        {"credential.helper", ""},
        {"core.quotePath", "false"},
        {"init.defaultBranch", "main"},
        {"advice.detachedHead", "false"},
        {"transfer.credentialsInUrl", "die"},
        {web && m->args->token ? text_format(run, "credential.%s.helper", m->origin) : "credential.helper",
         web && m->args->token ? "!f() { test \"$1\" = get && printf 'username=x-access-token\\npassword=%s\\n' "
                                 "\"$" TOKEN_VARIABLE "\"; }; f"
                               : ""}};
    size_t count = sizeof pair / sizeof *pair;
    env[n++] = text_format(run, "GIT_CONFIG_COUNT=%zu", count);
    for (size_t i = 0; i < count; i++) {
        env[n++] = text_format(run, "GIT_CONFIG_KEY_%zu=%s", i, pair[i][0]);
        env[n++] = text_format(run, "GIT_CONFIG_VALUE_%zu=%s", i, pair[i][1]);
    }
    return n;
}

void mirror_begin(struct mirror *m, const char *const *argv, struct tl_program *p) {
    const char **env = tl_alloc(m->run, ENV * sizeof *env);
    struct tl_program_secret *secret = tl_alloc(m->run, sizeof *secret);
    size_t n = 0, scheme = strcspn(m->url, ":");
    *p = (struct tl_program){.struct_size = sizeof *p, .argv = argv, .max_output = SAID_MOST * 50};
    if (!env || !secret)
        return;
    env[n++] = "GIT_CONFIG_NOSYSTEM=1";
    env[n++] = "GIT_CONFIG_GLOBAL=/dev/null";
    env[n++] = "GIT_TERMINAL_PROMPT=0";
    env[n++] = "GIT_ASKPASS=/bin/false";
    env[n++] = "GIT_SSH_COMMAND=ssh -o BatchMode=yes";
    env[n++] = "LC_ALL=C";
    env[n++] = text_format(m->run, "GIT_ALLOW_PROTOCOL=%.*s", (int)scheme, m->url);
    n = configure(m, env, n);
    for (size_t i = 0; i < n; i++)
        if (!env[i])
            return;
    p->env = env;
    if (m->args->token && strncmp(m->url, "http", 4) == 0) {
        *secret = (struct tl_program_secret){.name = TOKEN_VARIABLE, .url = m->url, .secret = m->args->token};
        p->secrets = secret;
        p->secret_count = 1;
    }
}

static struct tl_span tail_of(struct tl_span s, size_t most) {
    size_t skip = s.len > most ? s.len - most : 0;
    while (skip < s.len && skip && ((unsigned char)s.ptr[skip] & 0xC0) == 0x80)
        skip++;
    return (struct tl_span){s.ptr + skip, s.len - skip};
}

static int run_git(struct mirror *m, const char *const *argv, const char *server, size_t max_output,
                   struct tl_span *out) {
    struct tl_program p;
    mirror_begin(m, argv, &p);
    if (!p.env)
        return tl_fail(m->run, TL_FAILED, "the run's memory is used up");
    p.url = server;
    p.max_output = max_output > p.max_output ? max_output : p.max_output;
    int rc = tl_exec(m->run, &p);
    if (rc == TL_CANCEL || rc == TL_UNSUPPORTED)
        return rc;
    if (rc) {
        const char *text = tl_reason(m->run);
        m->said = (struct tl_span){text ? text : "git could not be run", strlen(text ? text : "git could not be run")};
        m->status = -1;
        return TL_NOTFOUND;
    }
    m->said = tail_of(p.err, SAID_MOST);
    m->status = p.status;
    if (out)
        *out = p.out;
    return p.status == 0 ? TL_OK : TL_NOTFOUND;
}

/* TL_NOTFOUND: it ended with another status than 0, or could not be run; m->said tells. */
int mirror_git(struct mirror *m, const char *const *argv, size_t max_output, struct tl_span *out) {
    return run_git(m, argv, NULL, max_output, out);
}

/* The same, of a command that goes to the server; to one of the web on the way that our own request went. */
static int ask_server(struct mirror *m, const char *const *argv, size_t max_output, struct tl_span *out) {
    return run_git(m, argv, strncmp(m->url, "http", 4) == 0 ? m->url : NULL, max_output, out);
}

static bool mentions(const struct mirror *m, const char *words) {
    return memmem(m->said.ptr, m->said.len, words, strlen(words)) != NULL;
}

const char *mirror_class(const struct mirror *m) {
    static const char *const class_of[][2] = {{"No space left", "disk"},
                                              {"Disk quota exceeded", "disk"},
                                              {"error: 404", "not_found"},
                                              {"not found", "not_found"},
                                              {"does not exist", "not_found"},
                                              {"error: 401", "auth"},
                                              {"error: 403", "auth"},
                                              {"Authentication failed", "auth"},
                                              {"could not read Username", "auth"},
                                              {"Permission denied", "auth"},
                                              {"timed out", "timeout"},
                                              {"time was up", "timeout"},
                                              {"Could not resolve", "not_found"},
                                              {"not exported", "not_found"}};
    for (size_t i = 0; i < sizeof class_of / sizeof *class_of; i++)
        if (mentions(m, class_of[i][0]))
            return class_of[i][1];
    return "git";
}

/* ---- what is in the cache folder */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)at;
    if (type == FTW_DP || type == FTW_D)
        rmdir(path);
    else
        unlink(path);
    return 0;
}

static void remove_tree(const char *path) {
    if (path)
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int remove_lock(const char *path, const struct stat *st, int type, struct FTW *at) {
    size_t n = strlen(path);
    (void)st;
    (void)at;
    if (type == FTW_F && n > 5 && strcmp(path + n - 5, ".lock") == 0)
        unlink(path);
    return 0;
}

/* Of a git that was killed; we alone have the mirror. */
static void remove_locks(struct mirror *m) {
    static const char *const lock[] = {".git/HEAD.lock", ".git/packed-refs.lock", ".git/config.lock",
                                       ".git/shallow.lock"};
    const char *refs = mirror_path(m, ".git/refs");
    for (size_t i = 0; i < sizeof lock / sizeof *lock; i++) {
        const char *path = mirror_path(m, lock[i]);
        if (path)
            unlink(path);
    }
    if (refs)
        nftw(refs, remove_lock, 16, FTW_PHYS);
}

/* Where HEAD leads is the server's to say; git fetch does not ask. */
static int set_head(struct mirror *m, const struct refs *advertised) {
    const char *path = mirror_path(m, ".git/HEAD"), *next = mirror_path(m, ".git/HEAD.next");
    const char *text = advertised->head ? text_format(m->run, "ref: %s\n", advertised->head)
                                        : text_format(m->run, "%s\n", advertised->head_oid);
    int fd = path && next && text ? open(next, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok && rename(next, path) == 0
               ? TL_OK
               : tl_fail(m->run, TL_FAILED, "cannot write the HEAD of the mirror (errno %d)", errno);
}

static int clone(struct mirror *m) {
    const char *part = mirror_file(m, ".part"), *part_path = mirror_path(m, ".part"), *path = mirror_path(m, ".git");
    if (!part || !part_path || !path)
        return tl_fail(m->run, TL_FAILED, "the run's memory is used up");
    remove_tree(part_path);
    const char *const argv[] = {"git", "clone", "--mirror", "--quiet", "--template=", "--", m->url, part, NULL};
    int rc = ask_server(m, argv, 0, NULL);
    if (rc)
        remove_tree(part_path);
    else if (rename(part_path, path))
        rc = tl_fail(m->run, TL_FAILED, "cannot give the mirror its name (errno %d)", errno);
    return rc;
}

static int fetch(struct mirror *m) {
    const char *const argv[] = {
        "git",       "-C", m->git, "fetch",          "--quiet", "--prune", "--force", "--no-write-fetch-head",
        "--no-tags", "--", m->url, "+refs/*:refs/*", NULL};
    remove_locks(m);
    return ask_server(m, argv, 0, NULL);
}

/* Of the mirror itself, not of the way there. */
static bool is_damaged(const struct mirror *m) {
    static const char *const words[] = {
        "not a git repository", "bad object",   "unable to read", "corrupt", "bad ref",
        "missing blob",         "missing tree", "missing commit", "broken",  "did not send all necessary objects",
        "cannot lock ref"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (mentions(m, words[i]))
            return true;
    return false;
}

int mirror_list(struct mirror *m, struct refs *out) {
    enum { LIST_MOST = 64 << 20 };
    const char *const argv[] = {"git", "ls-remote", "--symref", "--quiet", "--", m->url, NULL};
    struct tl_span text;
    int rc = ask_server(m, argv, LIST_MOST, &text);
    return rc ? rc : refs_of_list(m->run, text, out);
}

int mirror_update(struct mirror *m, const struct refs *advertised) {
    const char *path = mirror_path(m, ".git");
    bool there = path && access(path, F_OK) == 0;
    int rc = there ? fetch(m) : clone(m);
    if (rc == TL_NOTFOUND && there && is_damaged(m)) {
        tl_log(m->run, TL_WARN, "%s: the mirror in the cache is damaged, and is made anew", m->repository->full_name);
        remove_tree(path);
        rc = clone(m);
    }
    return rc || (!advertised->head && !advertised->head_oid) ? rc : set_head(m, advertised);
}

int mirror_refs(struct mirror *m, struct refs *out) {
    enum { LIST_MOST = 64 << 20 };
    const char *const argv[] = {"git", "-C", m->git, "for-each-ref", "--format=%(objectname)%09%(refname)", NULL};
    struct tl_span text;
    int rc = mirror_git(m, argv, LIST_MOST, &text);
    return rc ? rc : refs_of_list(m->run, text, out);
}

/* ---- what is made of it */

int mirror_bundle(struct mirror *m, const struct refs *base) {
    enum { BASE_MOST = 2000 };
    const char *file = text_format(m->run, "../%s.bundle", m->key), *path = mirror_path(m, ".bundle");
    struct text without = {.run = m->run};
    if (!file || !path)
        return tl_fail(m->run, TL_FAILED, "the run's memory is used up");
    for (size_t i = 0; base && i < base->count; i++) {
        text_word(&without, text_format(m->run, "^%s\n", base->item[i].oid));
    }
    unlink(path);
    const char *const full[] = {"git", "-C", m->git, "bundle", "create", "--quiet", file, "--all", NULL};
    const char *const part[] = {"git", "-C", m->git, "bundle", "create", "--quiet", file, "--all", "--stdin", NULL};
    const char *const verify[] = {"git", "-C", m->git, "bundle", "verify", "--quiet", file, NULL};
    int rc;
    if (base) {
        struct tl_program p;
        mirror_begin(m, part, &p);
        p.input = (struct tl_span){without.ptr, without.len};
        if (!p.env || without.lost || base->count > BASE_MOST)
            return TL_UNSUPPORTED;
        rc = tl_exec(m->run, &p);
        if (rc == TL_CANCEL)
            return rc;
        if (rc || p.status) {
            tl_reason(m->run);
            return TL_UNSUPPORTED;
        }
    } else {
        rc = mirror_git(m, full, 0, NULL);
    }
    return rc ? rc : mirror_git(m, verify, 0, NULL);
}

int mirror_zip(struct mirror *m) {
    const char *file = text_format(m->run, "--output=../%s.zip", m->key), *path = mirror_path(m, ".zip");
    const char *prefix = text_format(m->run, "--prefix=%s/", m->repository->name);
    if (!file || !path || !prefix)
        return tl_fail(m->run, TL_FAILED, "the run's memory is used up");
    unlink(path);
    const char *const argv[] = {"git", "-C", m->git, "archive", "--format=zip", prefix, file, "HEAD", NULL};
    return mirror_git(m, argv, 0, NULL);
}

bool mirror_is_ancestor(struct mirror *m, const char *old, const char *now) {
    const char *const argv[] = {"git", "-C", m->git, "merge-base", "--is-ancestor", old, now, NULL};
    return mirror_git(m, argv, 0, NULL) == TL_OK;
}
