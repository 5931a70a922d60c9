/* match.c - see match.h. */
#include "match.h"

#include <string.h>
#include <strings.h>

void text_add(struct text *t, const char *ptr, size_t len) {
    if (t->full || t->room - t->len <= len) {
        size_t room = (t->len + len) * 2 + 1024;
        char *more = t->full ? NULL : tl_alloc(t->run, room);
        t->full = !more;
        if (!more)
            return;
        if (t->len)
            memcpy(more, t->at, t->len);
        t->at = more;
        t->room = room;
    }
    if (len)
        memcpy(t->at + t->len, ptr, len);
    t->len += len;
    t->at[t->len] = '\0';
}

void text_put(struct text *t, const char *more) {
    if (more)
        text_add(t, more, strlen(more));
}

void text_span(struct text *t, struct tl_span more) {
    text_add(t, more.ptr, more.len);
}

void match_visible(struct text *out, const char *html) {
    while (html && *html) {
        size_t plain = strcspn(html, "<");
        text_add(out, html, plain);
        html += plain;
        const char *end = *html ? strchr(html, '>') : NULL;
        if (!end) {
            text_put(out, html); /* a lone < is one */
            break;
        }
        text_put(out, " ");
        html = end + 1;
    }
    text_put(out, " ");
}

static bool is_letter(char c) {
    unsigned char u = (unsigned char)c;
    return u >= 0x80 || (u >= '0' && u <= '9') || ((u | 32) >= 'a' && (u | 32) <= 'z');
}

bool match_word(const char *text, const char *word, bool fold) {
    size_t len = strlen(word);
    for (const char *at = text; len && (at = fold ? strcasestr(at, word) : strstr(at, word)); at++) {
        bool begins = at == text || !is_letter(at[-1]) || !is_letter(word[0]);
        if (begins && (!is_letter(at[len]) || !is_letter(word[len - 1])))
            return true;
    }
    return false;
}

/* First parts of addresses on github.com that belong to no owner. */
static const char *const reserved[] = {
    "about",       "apps",     "blog",          "collections",   "contact",  "customer-stories",
    "enterprise",  "events",   "explore",       "features",      "join",     "login",
    "marketplace", "new",      "notifications", "orgs",          "pricing",  "search",
    "security",    "sessions", "settings",      "site",          "sponsors", "team",
    "topics",      "trending", "users",         "organizations", "readme",   "resources",
    "solutions"};

static bool is_reserved(const char *owner, size_t len) {
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strlen(reserved[i]) == len && strncasecmp(reserved[i], owner, len) == 0)
            return true;
    return false;
}

static void insert(struct repositories *r, const char *owner, size_t owner_len, const char *repo, size_t repo_len) {
    char name[MATCH_NAME];
    memcpy(name, owner, owner_len);
    name[owner_len] = '/';
    memcpy(name + owner_len + 1, repo, repo_len);
    name[owner_len + 1 + repo_len] = '\0';
    size_t at = 0;
    while (at < r->count && strcmp(r->name[at], name) < 0)
        at++;
    if (at < r->count && strcmp(r->name[at], name) == 0)
        return;
    if (r->count == MATCH_REPOSITORIES)
        return;
    memmove(r->name[at + 1], r->name[at], (r->count - at) * sizeof *r->name);
    memcpy(r->name[at], name, sizeof name);
    r->count++;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
void match_repositories(const char *text, struct repositories *out) {
    static const char host[] = "github.com/";
    for (const char *at = text; at && (at = strcasestr(at, host));) {
        bool whole =
            at == text || at[-1] == '/' || at[-1] == '@' || (at - text >= 4 && strncasecmp(at - 4, "www.", 4) == 0);
        const char *owner = at + sizeof host - 1, *repo;
        size_t owner_len = strspn(owner, LETTERS), repo_len;
        at = owner;
        if (!whole || owner_len < 1 || owner_len > 39 || owner[owner_len] != '/' || is_reserved(owner, owner_len))
            continue;
        repo = owner + owner_len + 1;
        repo_len = strspn(repo, LETTERS "._");
        while (repo_len && repo[repo_len - 1] == '.') /* the end of a sentence */
            repo_len--;
        if (repo_len > 4 && strncmp(repo + repo_len - 4, ".git", 4) == 0)
            repo_len -= 4;
        if (repo_len >= 1 && repo_len <= 100)
            insert(out, owner, owner_len, repo, repo_len);
    }
}
