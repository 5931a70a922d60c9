/* args.h - declared options and arguments: one place that parses, fills in defaults, refuses, and makes a run's
 * identity. */
#ifndef TROTLINE_ENGINE_ARGS_H
#define TROTLINE_ENGINE_ARGS_H
#include "base/arena.h"
#include "base/buf.h"
#include "base/fail.h"
#include "engine/plugin.h"
#include "store/store.h"

/* What a check gives. The buffers are the caller's, and reset here. */
struct args {
    struct buf payload; /* JSON object: only what was given, in the declared order, values in their declared type */
    struct buf
        identity; /* canonical JSON: all arguments, defaults filled in, keys sorted, URLs canonical (url_canonical) */
    uint8_t digest[STORE_DIGEST]; /* head of SHA-256(collector name, NUL, identity) */
    struct buf url;   /* the first URL argument as given (WHATWG serialisation is not applied); empty: none */
    struct buf hosts; /* "host:port" of every URL argument, each ended by NUL, in order; ports always given */
    size_t host_count;
};
void args_free(struct args *a);
/* Checks `given` (a JSON object, or empty for {}) against the table of a plugin. `yaml`: it came from YAML, so scalars
 * are typed by the table (1.10 stays text where text is wanted). Unknown names (with the nearest known one), wrong
 * types, missing required ones, values outside the choices, URLs that do not parse or are not http(s): TL_INVALID with
 * a sentence that names the argument. Secrets: the name of one, as text. Numbers stay exact. Sizes and durations may be
 * text ("64KiB", "90s") and become numbers (bytes, milliseconds). */
int args_check(const struct plugin *p, struct tl_span given, bool yaml, struct args *out, struct fail *why);
/* base overlaid with the members of over (both JSON objects); order of base first. For TL_SAME. */
int args_merge(struct buf *out, struct tl_span base, struct tl_span over);
/* The same table in the process that loaded it: fills the struct at its offsets from a payload that args_check made. */
struct args_secrets {
    const struct tl_secret *(*find)(void *ctx, const char *name); /* NULL: no such secret */
    void *ctx;
};
int args_fill(const struct tl_option *table, size_t struct_size, struct tl_span json, struct arena *arena,
              const struct args_secrets *secrets, void **out, struct fail *why);
/* The same for many: `defaults` is what args_fill made of {}, and must live as long. */
int args_fill_over(const struct tl_option *table, size_t struct_size, const void *defaults, struct tl_span json,
                   struct arena *arena, const struct args_secrets *secrets, void **out, struct fail *why);
/* The JSON object of a child's arguments as its collector gave them (tl_child.args or args_json). */
int args_of_child(struct buf *out, const struct tl_child *child);
#endif
