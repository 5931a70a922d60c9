/* message.h - what supervisor and workers say to each other: typed, size-checked packets on a SOCK_SEQPACKET pair.
 *
 * A message is at most MESSAGE_MAX bytes; longer lists come in parts, and small RUN and REACT messages several in a
 * packet. Sending never blocks: what the socket does not take waits in the sender's queue. A reader that meets a field
 * that is not there, or too long, sets `bad`, and everything after reads as empty: the receiver checks once, at the
 * end, and treats a bad message as the death of its sender. */
#ifndef TROTLINE_ENGINE_MESSAGE_H
#define TROTLINE_ENGINE_MESSAGE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "trotline.h"

enum { MESSAGE_MAX = 60 * 1024 };
enum { WISH_REACT = 0x80 }; /* in the flags of a wish: it was made by react */
enum { ASK_STATE, ASK_VALIDATORS, ASK_ROBOTS, ASK_EARLIER, ASK_UNSEEN, ASK_SHARED }; /* kinds of MESSAGE_STATE_GET */
enum message_type {
    /* supervisor to worker */
    MESSAGE_HELLO = 1,
    MESSAGE_SCOPE,
    MESSAGE_RUN,
    MESSAGE_REACT,
    MESSAGE_CANCEL,
    MESSAGE_KNOWN,
    MESSAGE_STATE,
    MESSAGE_EXEC_PART,
    MESSAGE_EXEC_END,
    MESSAGE_QUIT,
    MESSAGE_EXEC_TAKEN,
    MESSAGE_COOKIE,
    /* worker to supervisor */
    MESSAGE_READY = 64,
    MESSAGE_WISHES,
    MESSAGE_STATE_SET,
    MESSAGE_ATTACHED,
    MESSAGE_DONE,
    MESSAGE_FACT,
    MESSAGE_STATE_GET,
    MESSAGE_EXEC,
    MESSAGE_LOG,
    MESSAGE_EXEC_INPUT,
    MESSAGE_COOKIE_HEARD,
    MESSAGE_LINKS,
    MESSAGE_SHARE
};

enum { EXEC_STREAM = 1, EXEC_OFFLINE = 2 }; /* flags of EXEC */
/* Of a streaming program, each side sends the other at most so many bytes more than it was told are taken: EXEC_TAKEN
 * for what went into the program, the count in EXEC_INPUT for what came out of it. So neither side ever holds more of
 * it, however slow the other is. */
enum { EXEC_WINDOW = 256 * 1024 };
enum exec_input { EXEC_BYTES, EXEC_CLOSE /* its input ends */, EXEC_FAREWELL /* and it has EXEC_GRACE to end, too */ };

/* Building: message_start, the put functions, then port_send. The buffer is reused. */
void message_start(struct buf *m, enum message_type type);
static inline void message_u8(struct buf *m, uint8_t v) {
    buf_add(m, &v, 1);
}
static inline void message_u32(struct buf *m, uint32_t v) {
    buf_add(m, &v, 4);
}
static inline void message_i64(struct buf *m, int64_t v) {
    buf_add(m, &v, 8);
}
void message_span(struct buf *m, struct tl_span s); /* a length and the bytes */
void message_text(struct buf *m, const char *text); /* NULL and "" are told apart */

struct message {
    enum message_type type;
    const char *at, *end;
    bool bad;
};
bool message_open(struct message *m, const char *ptr, size_t len); /* false: empty */
bool message_next(struct message *m); /* another one behind a RUN or REACT in the same packet; false: none */
uint8_t message_get_u8(struct message *m);
uint32_t message_get_u32(struct message *m);
int64_t message_get_i64(struct message *m);
struct tl_span
message_get_span(struct message *m);             /* into the message's buffer; ptr is followed by NUL only for texts */
const char *message_get_text(struct message *m); /* NULL or NUL-ended, in the message's buffer */
const void *message_get_bytes(struct message *m, size_t len); /* exactly len bytes, or NULL and bad */

struct cookie;
void message_cookie(struct buf *m, const struct cookie *c);
struct cookie message_get_cookie(struct message *m); /* its texts in the message's buffer; cookies_put checks them */

/* One end of a socket with its queue of what could not be sent yet. */
struct port {
    int fd;
    char *queue; /* framed: u32 length, bytes */
    size_t queued, sent, room;
    bool broken;
};
void port_init(struct port *p, int fd);
void port_free(struct port *p);                      /* closes the socket */
void port_send(struct port *p, const struct buf *m); /* a message over MESSAGE_MAX is a bug of ours: aborts */
void port_flush(struct port *p);                     /* call when writable */
static inline bool port_waiting(const struct port *p) {
    return p->queued > p->sent;
}
/* The next message in `into` (at least MESSAGE_MAX bytes): 1 got one, 0 nothing now, -1 the other side is gone. */
int port_receive(struct port *p, char *into, size_t *len);
#endif
