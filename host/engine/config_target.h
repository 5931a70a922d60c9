/* config_target.h - files of targets (trotline-targets(5)): what is watched, by which lines, how often.
 *
 * Invariant: a target is a crawl whose name is the target's id, so that its lock, its state and its history are those
 * of that name. */
#ifndef TROTLINE_ENGINE_CONFIG_TARGET_H
#define TROTLINE_ENGINE_CONFIG_TARGET_H
#include "engine/config.h"

struct target {
    struct crawl crawl;       /* name: the id; target: what is watched */
    const char *const *kinds; /* NULL-ended, or NULL */
    size_t kind_count;
    int64_t every_us; /* INT64_MAX: never by itself */
};
/* `folder`: where relative paths start. After a failure there is nothing to free. EXIT_CONFIG. */
int config_target_text(const char *file_name, struct tl_span text, struct target *out, struct fail *why);
int config_target(const char *path, struct target *out, struct fail *why);
void config_target_free(struct target *t);

struct target_wish { /* what a new target is to say, in place of what its template says */
    const char *id, *name;
    const char *url, *every;   /* NULL: that of the template, if any */
    const char *template_file; /* NULL: one line of http, beginning at the URL */
};
/* Appends it as YAML, a key a line, after that has been read as a target. EXIT_CONFIG, EXIT_USAGE. */
int config_target_make(const struct target_wish *wish, struct buf *out, struct fail *why);
extern const struct schema schema_target; /* struct target: for the manual's table */
#endif
