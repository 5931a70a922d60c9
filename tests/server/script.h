/* script.h - what a script says, between its reader (script.c) and what answers by it (script_answer.c).
 *
 * Invariant: nothing but the counts `asked` changes after the script was read. */
#ifndef TROTLINE_TESTS_SCRIPT_H
#define TROTLINE_TESTS_SCRIPT_H
#include "fixture.h"

struct field {
    char *name;
    struct template value;
};
struct answer {
    char *version, *reason;
    uint64_t status;
    struct field *fields;
    size_t field_count, field_room;
    struct template body;
    struct buf trailer;
    bool raw, keep, close, bare, echo, validate, drip_head, at_once;
    enum reply_end end;
    uint64_t limit, chunk, delay_ms, drip, drip_ms;
    uint64_t tail_seed, tail_min, tail_max; /* tail_max 0: no heavy-tailed delay */
    int64_t length_shift;
    struct gate *gate;
};
struct rule {
    char *method, *host, *path; /* method, host: NULL for any */
    bool prefix;
    uint64_t asked;
    struct answer *answers;
    size_t count, room;
};
extern struct rule *script_rules;
extern size_t script_rule_count;
#endif
