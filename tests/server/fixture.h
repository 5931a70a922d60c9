/* fixture.h - the parts of the fixture server and what passes between them.
 *
 * A request is parsed (request.c), answered by a script (script.c) or a built-in site (site.c, kayak.c), both of which
 * only fill in a struct reply, counted (stats.c), and sent by the event loop (conn.c), which alone knows about sockets
 * and time. Invariant: a reply says everything about an answer, its misbehaviour included, so that nothing else decides
 * what goes over the wire. */
#ifndef TROTLINE_TESTS_FIXTURE_H
#define TROTLINE_TESTS_FIXTURE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define ENDLESS UINT64_MAX

/* ---- request.c: one request head; the spans point into the text that was parsed */
struct request {
    struct tl_span method, target, host;
    struct tl_span none_match, modified_since;
    struct tl_span fields; /* the header lines, each ended by CRLF */
    bool close, chunked, expects;
    uint64_t body_left; /* of a Content-Length */
    uint64_t body_seen; /* bytes of the body that came in */
    unsigned char body_head[64];
    enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_TRAILER } chunk_state;
};
#define REQUEST_HEAD_MAX ((size_t)64 << 10)

int request_parse(const char *ptr, size_t len, struct request *out); /* TL_INVALID: not a request */
/* Takes what belongs to the body; *taken is how much of `in` that was. 1: the body is complete, 0: more must come,
 * TL_INVALID. */
int request_body(struct request *r, struct tl_span in, size_t *taken);
bool request_next_field(struct tl_span *fields, struct tl_span *name, struct tl_span *value);

/* ---- reply.c: an answer */
struct piece { /* a part of a body */
    enum { PIECE_BYTES, PIECE_OWN, PIECE_FILL } kind;
    const char *ptr; /* BYTES, FILL: borrowed from what lives as long as the process */
    size_t at, len;  /* OWN: bytes at..at+len of reply.own; FILL: length of the pattern */
    uint64_t total;  /* bytes on the wire; ENDLESS for a body without end */
};
enum reply_end { END_KEEP, END_CLOSE, END_CUT, END_RESET, END_STALL };
struct gate;
struct reply {
    int status;
    bool page;       /* HTML: counts as a page when its status is 200 */
    struct buf head; /* all that precedes the body */
    struct buf own;  /* bytes made for this answer */
    struct piece *pieces;
    size_t count, room;
    size_t chunk;              /* chunked coding with chunks of at most that many bytes; 0: identity */
    const struct buf *trailer; /* header lines behind the last chunk; may be NULL */
    uint64_t limit;            /* wire bytes behind the head after which `end` happens; ENDLESS: at the natural end */
    enum reply_end end;
    bool at_once; /* `end` happens before a single byte */
    uint64_t delay_us;
    struct gate *gate; /* not answered before it is open; may be NULL */
    size_t drip;       /* bytes at a time, every drip_us; 0: as fast as the client reads */
    uint64_t drip_us;
    bool drip_head;
};
void reply_reset(struct reply *r);
void reply_free(struct reply *r);
void reply_piece(struct reply *r, struct piece p);
uint64_t reply_total(const struct reply *r); /* bytes of the body; ENDLESS */
const char *reply_reason(int status);
/* A whole well-behaved answer; the body is what was appended to r->own before. `fields`: further header lines, each
 * ended by CRLF. */
void reply_simple(struct reply *r, const struct request *q, int status, const char *type, const char *fields);
void reply_json_text(struct buf *out, struct tl_span text); /* a JSON string with its quotes */

/* ---- stats.c: what was asked and answered */
struct stats {
    uint64_t requests, pages, distinct, not_modified, other, bytes;
    uint64_t connections, in_flight, peak_in_flight;
};
extern struct stats stats;
uint64_t
stats_path(struct tl_span path); /* requests of that path so far, this one included; 0: too many paths to remember */
void stats_answer(const struct request *q, const struct reply *r);
void stats_json(struct buf *out, bool brief);
void stats_reset(void);
int stats_log_open(const char *file);

/* ---- site.c, kayak.c: built-in sites */
struct site {
    enum { SITE_NONE, SITE_TREE, SITE_LINKED, SITE_GRAPH } kind;
    uint64_t arity, depth, filler;      /* tree */
    uint64_t pages, seed, edition;      /* linked */
    uint64_t nodes, kids, cross, bytes; /* graph */
    uint64_t delay_us;
};
int site_prepare(struct site *s, const char **why); /* refuses impossible sizes */
void site_answer(const struct site *s, const struct request *q, uint64_t nth, struct reply *r);
void site_missing(const struct request *q, struct reply *r);
uint64_t site_mix(uint64_t x);
#define KAYAK_MIN 16
#define KAYAK_MAX 10000
void kayak_prepare(const struct site *s);
void kayak_answer(const struct site *s, const struct request *q, uint64_t nth, struct reply *r);

/* ---- template.c: a text with places to be filled in for each request */
struct part {
    enum { PART_TEXT, PART_PATH, PART_TAIL, PART_NEXT, PART_COUNT, PART_HOST, PART_FILL } kind;
    char *text;
    size_t len;
    uint64_t total; /* FILL */
};
struct template {
    struct part *parts;
    size_t count, room;
};
struct filling {
    struct tl_span path, tail, host;
    uint64_t count;
};
/* Appends source to t. escapes: \r \n \t \0 \s \\ \xHH are taken as such. number >= 0 replaces {}. 0 or TL_INVALID. */
int template_add(struct template *t, struct tl_span source, bool escapes, int64_t number);
void template_bytes(struct template *t, const char *ptr, size_t len);
void template_fill(struct template *t, const char *pattern, size_t len, uint64_t total);
void template_free(struct template *t);
void template_text(const struct template *t, const struct filling *f, struct buf *out);
void template_body(const struct template *t, const struct filling *f, struct reply *r);

/* ---- script.c, script_answer.c: answers as a file says */
int script_load(const char *file); /* says on stderr what is wrong, and in which line */
bool script_answer(struct request *q, uint64_t nth, struct reply *r); /* false: no rule matches */
void script_reset(void);
int script_number(const char *text, uint64_t max, uint64_t *out); /* decimal, with K, M or G (1024) */

/* ---- timer.c */
struct timer {
    uint64_t at_us, id;
    int fd;
};
uint64_t timer_add(int fd, uint64_t in_us); /* its id, never 0 */
bool timer_due(struct timer *out);          /* takes the next one off that has come */
int timer_wait_ms(void);                    /* until the next one; -1: none */

/* ---- listen.c */
#define LISTENERS_MAX 16
int listen_all(const char *const *addresses, size_t count, unsigned port, int *fds, unsigned *bound);

/* ---- conn.c: connections, gates */
void conn_watch_stdin(void);
/* Returns on SIGTERM, SIGINT or the end of a watched stdin. */
void conn_serve(const struct site *s, const int *fds, size_t count);
struct gate *conn_gate(const char *name, size_t len);
#endif
