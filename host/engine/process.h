/* process.h - programs as a run sees them: asked for, fed and heard, by way of messages to whoever may start some.
 *
 * Who has the pipes is on the other side of a port (super_exec.c): the supervisor of a worker, the helper of a plain
 * run. A link is one run's way there; it has one program at a time. The owner of the port hands in what comes of it
 * (process_hear), and frees the link's program at the run's end. */
#ifndef TROTLINE_ENGINE_PROCESS_H
#define TROTLINE_ENGINE_PROCESS_H
#include "engine/message.h"
#include "engine/run.h"

struct process;
struct process_link {
    struct port *port;
    struct buf *message; /* where messages are built */
    int64_t key;         /* of the run, in the messages */
    const bool *cancel;
    void (*wait)(void *ctx); /* comes back when process_hear said so, or the run was cancelled, or for nothing */
    void *ctx;
    struct process *process; /* NULL: none */
};

int process_exec(struct run *r, struct process_link *link, struct tl_program *p);
int process_start(struct run *r, struct process_link *link, const struct tl_program *p);
int process_write(struct run *r, struct process_link *link, struct tl_span text);
int process_line(struct run *r, struct process_link *link, struct tl_span *line);
int process_end(struct run *r, struct process_link *link, int *status, struct tl_span *err);
/* A message EXEC_PART, EXEC_TAKEN or EXEC_END, behind its key; true: the run waits for that. */
bool process_hear(struct process_link *link, struct message *m);
void process_free(struct process_link *link);
#endif
