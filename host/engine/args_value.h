/* args_value.h - one declared option or argument: what is given for it becomes JSON of the declared type, or is
 * refused.
 *
 * Shared by args.c (the supervisor checks), args_fill.c (the worker fills structs) and loader.c (defaults are checked
 * when a collector is loaded). Invariant: what args_value and args_default append is one valid JSON value of the slot's
 * type: a string for TEXT, URL and SECRET, a whole number for INT, BYTES and MILLIS, true or false for BOOL, anything
 * for JSON; an array of these for a list. */
#ifndef TROTLINE_ENGINE_ARGS_VALUE_H
#define TROTLINE_ENGINE_ARGS_VALUE_H
#include <stdbool.h>

#include "base/buf.h"
#include "base/fail.h"
#include "engine/plugin.h"

enum { ARGS_MAX = 1 << 20, ARGS_SLOTS = 256, ARGS_SECRET_NAME = 64 };

struct args_slot {
    const char *what, *collector; /* "argument" or "option", and whose; for messages; collector may be NULL */
    const char *name, *dflt, *choices;
    enum tl_type type;
    unsigned flags;
};

/* Appends the value of `given`. yaml: it came from YAML, so its scalars are typed here. */
int args_value(const struct args_slot *slot, const struct tl_json *given, bool yaml, struct buf *out, struct fail *why);
/* Appends the default. TL_NOTFOUND: there is none. TL_INVALID: it does not fit its own type. */
int args_default(const struct args_slot *slot, struct buf *out, struct fail *why);
/* The same check for a collector's options (trotline.yml); payload as in struct args. */
int args_check_options(const struct plugin *p, struct tl_span given, bool yaml, struct buf *payload, struct fail *why);

bool args_type_known(enum tl_type type);
const char *args_type_name(enum tl_type type); /* "text", "int", ...; "unknown" */
int args_type_find(const char *name, enum tl_type *type);
#endif
