/* plugin_cache.h - descriptions kept from one start to the next, in $XDG_CACHE_HOME or ~/.cache, under
 * trotline/plugins/.
 *
 * SHA256.json is what a file of these bytes says about itself; index/HASH.json leads from a path, with its inode, size
 * and times, to the bytes' SHA-256, so that an unchanged file is not read. Invariant: nothing here can fail; what
 * cannot be read, is not ours, or was written by another version is as if it were not there, and what cannot be written
 * is made again next time. */
#ifndef TROTLINE_ENGINE_PLUGIN_CACHE_H
#define TROTLINE_ENGINE_PLUGIN_CACHE_H
#include <sys/stat.h>

#include "engine/plugin.h"

struct plugin_cache {
    int folder; /* -1: no cache */
};
void plugin_cache_open(struct plugin_cache *c);
void plugin_cache_close(struct plugin_cache *c);

/* The SHA-256 of the file at `path`, from the index when it is unchanged; *st is what it was when it had these bytes.
 */
int plugin_cache_sha256(const struct plugin_cache *c, const char *path, struct stat *st, char sha256[SHA256_HEX],
                        struct fail *why);
int plugin_cache_get(const struct plugin_cache *c, const char sha256[SHA256_HEX], struct plugin *out); /* TL_NOTFOUND */
void plugin_cache_put(const struct plugin_cache *c, const char sha256[SHA256_HEX], const struct plugin *p);
int64_t plugin_cache_prune(int64_t before_us); /* removes what nobody asked for since then; how many */
bool plugin_cache_same(const struct stat *a, const struct stat *b); /* surely the same bytes */
#endif
