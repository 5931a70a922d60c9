/* source.c - what may be backed up, and under which name.
 *
 * A list is text from outside: a name that could not be a file's, or a URL that git would take for more than an
 * address, is refused, and nothing of it reaches a path, a line of a manifest or a program. Only what this collector
 * has made of a URL of the crawl's own may say that it is of another server, and how git gets there. */
#include <string.h>
#include <strings.h>

#include "gitbackup.h"

enum { FULL_NAME_MOST = 250 };

bool source_name_ok(const char *name) {
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > 100 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return false;
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

bool source_matches(const char *glob, const char *text) {
    const char *star = NULL, *back = NULL;
    while (*text) {
        if (*glob == '*') {
            star = ++glob;
            back = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star;
            text = ++back;
        } else {
            return false;
        }
    }
    return glob[strspn(glob, "*")] == '\0';
}

/* One that says where, and nothing else: no option, no helper, no name or password. */
static bool url_ok(const char *url, bool any) {
    static const char *const schemes[] = {"https://", "http://", "git://", "ssh://", "file://"};
    size_t n = any ? sizeof schemes / sizeof *schemes : 2, i = 0;
    while (url && i < n && strncasecmp(url, schemes[i], strlen(schemes[i])) != 0)
        i++;
    if (!url || i == n || strlen(url) > 2000)
        return false;
    for (const char *c = url; *c; c++)
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            return false;
    const char *host = strstr(url, "://") + 3, *at = strchr(host, '@');
    bool user = at && at < host + strcspn(host, "/?#");
    return *host != '-' && (i == 4 || (*host && *host != '/')) && (!user || i == 3) && !strpbrk(url, "?#");
}

/* One of the web in its one form, which is what we fetch from and what git is then to ask; others as they are. */
static const char *one_form(struct tl_run *run, const char *url) {
    const char *form;
    if (!url || strncasecmp(url, "http", 4) != 0)
        return url;
    return tl_url(run, url, url, &form) == TL_OK ? form : NULL;
}

static bool flag(struct tl_run *run, const struct tl_json *v, const char *pointer) {
    struct tl_json found;
    return value_at(run, v, pointer, &found) && found.type == TL_JSON_BOOL && found.raw.len == 4;
}

static const char *number(struct tl_run *run, const struct tl_json *v, const char *pointer) {
    const char *id = value_id(run, v, pointer);
    return id && strspn(id, "0123456789") == strlen(id) && (*id != '0' || !id[1]) ? id : NULL;
}

/* It stands in a line of the manifest. */
static const char *one_line(const char *text) {
    const char *c = text;
    while (c && (unsigned char)*c >= ' ' && *c != 0x7f)
        c++;
    return c && c > text && !*c && c - text <= FULL_NAME_MOST ? text : NULL;
}

int source_read(struct tl_run *run, const struct tl_json *entry, bool own, struct repository *r, const char **why) {
    const char *server = own ? value_text(run, entry, "/server") : NULL;
    *r = (struct repository){.server = server ? server : "github.com",
                             .id = number(run, entry, "/id"),
                             .full_name = one_line(value_text(run, entry, "/full_name")),
                             .owner = value_text(run, entry, "/owner/login"),
                             .name = value_text(run, entry, "/name"),
                             .clone_url = value_text(run, entry, "/clone_url"),
                             .formerly = one_line(value_text(run, entry, "/formerly")),
                             .has_wiki = flag(run, entry, "/has_wiki"),
                             .fork = flag(run, entry, "/fork"),
                             .archived = flag(run, entry, "/archived")};
    int64_t kb = value_count(run, entry, "/size");
    r->more = own ? value_count(run, entry, "/more") : 0;
    r->more = r->more > 0 ? r->more : 0;
    r->bytes = kb > 0 && kb < INT64_MAX / 1024 ? kb * 1024 : 0;
    *why = NULL;
    if (!source_name_ok(r->name))
        *why = "its name could not be the name of a file";
    else if (!r->owner || (!server && !source_name_ok(r->owner)))
        *why = "its owner's name could not be the name of a folder";
    else if (!url_ok(r->clone_url, server != NULL) || !(r->clone_url = one_form(run, r->clone_url)))
        *why = "its clone_url is no plain http or https URL";
    return *why ? TL_REFUSED : TL_OK;
}

/* SERVER/OWNER/NAME of any remote: what lies between the server and the last part of its path is the owner. */
int source_of_url(struct tl_run *run, const char *url, struct repository *r, const char **why) {
    *r = (struct repository){.clone_url = url, .full_name = url};
    *why =
        "it is no URL that git can be given: https, http, git, file or ssh://git@HOST/PATH, without password, ? and #";
    if (!url_ok(url, true) || !(url = one_form(run, url)))
        return TL_REFUSED;
    r->clone_url = url;
    const char *host = strstr(url, "://") + 3, *at = strchr(host, '@');
    size_t host_len = strcspn(host, "/");
    if (at && at < host + host_len) {
        host_len -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    const char *path = host + host_len;
    size_t end = strlen(path);
    while (end && path[end - 1] == '/')
        end--;
    if (end > 4 && strncmp(path + end - 4, ".git", 4) == 0)
        end -= 4;
    size_t last = end;
    while (last && path[last - 1] != '/')
        last--;
    path += strspn(path, "/") < end ? strspn(path, "/") : end;
    const char *tail = host + host_len + last;
    r->server = host_len ? text_copy(run, (struct tl_span){host, host_len}) : "localhost";
    r->owner = tail > path + 1 ? text_copy(run, (struct tl_span){path, (size_t)(tail - 1 - path)}) : "_";
    r->name = text_copy(run, (struct tl_span){tail, end - last});
    if (!r->server || !r->owner || !r->name)
        return tl_fail(run, TL_FAILED, "the run's memory is used up");
    *why = "its path does not end in a name that could be a file's";
    if (!source_name_ok(r->name) || strlen(r->owner) > 150 || strlen(r->server) > 150)
        return TL_REFUSED;
    r->full_name = text_format(run, "%s/%s", r->owner, r->name);
    *why = NULL;
    return r->full_name ? TL_OK : TL_FAILED;
}

const char *source_json(struct tl_run *run, const struct repository *r) {
    struct text t = {.run = run};
    text_word(&t, "{");
    if (r->id)
        text_word(&t, text_format(run, "\"id\":%s,", r->id));
    if (strcmp(r->server, "github.com") != 0) {
        text_word(&t, "\"server\":");
        text_string(&t, r->server);
        text_word(&t, ",");
    }
    text_word(&t, "\"full_name\":");
    text_string(&t, r->full_name ? r->full_name : text_format(run, "%s/%s", r->owner, r->name));
    text_word(&t, ",\"name\":");
    text_string(&t, r->name);
    text_word(&t, ",\"owner\":{\"login\":");
    text_string(&t, r->owner);
    text_word(&t, "},\"clone_url\":");
    text_string(&t, r->clone_url);
    if (r->formerly) {
        text_word(&t, ",\"formerly\":");
        text_string(&t, r->formerly);
    }
    if (r->more > 0)
        text_word(&t, text_format(run, ",\"more\":%lld", (long long)r->more));
    text_word(&t, text_format(run, ",\"has_wiki\":%s,\"fork\":%s,\"archived\":%s,\"size\":%lld}",
                              r->has_wiki ? "true" : "false", r->fork ? "true" : "false",
                              r->archived ? "true" : "false", (long long)(r->bytes / 1024)));
    return t.lost ? NULL : t.ptr;
}

struct repository source_wiki(struct tl_run *run, const struct repository *r) {
    struct repository w = *r;
    size_t n = strlen(r->clone_url);
    if (n > 4 && strcmp(r->clone_url + n - 4, ".git") == 0)
        n -= 4;
    w.has_wiki = false;
    w.is_wiki = true;
    w.formerly = NULL;
    w.name = text_format(run, "%s.wiki", r->name);
    w.full_name = text_format(run, "%s/%s.wiki", r->owner, r->name);
    w.clone_url = text_format(run, "%.*s.wiki.git", (int)n, r->clone_url);
    return w;
}
