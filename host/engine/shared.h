/* shared.h - memory that the supervisor shares with its workers: who is on the CPU, signs of life, last words, and the
 * hosts' pace.
 *
 * One writer a field: a worker writes its own slot, the supervisor clears it before a worker starts. */
#ifndef TROTLINE_ENGINE_SHARED_H
#define TROTLINE_ENGINE_SHARED_H
#include <stdatomic.h>
#include <stdint.h>

#include "net/pacing.h"

enum shared_phase { SHARED_COLLECT = 1, SHARED_REACT, SHARED_WRITE };
struct shared_slot {
    _Atomic int64_t job;      /* the job on the CPU, 0: none */
    _Atomic int phase;        /* what it is doing there */
    _Atomic int64_t slice_us; /* monotonic: since when */
    _Atomic int64_t beat_us;  /* monotonic: the loop's last turn */
    _Atomic int signal;       /* that it died of */
    _Atomic int overflow;     /* it ran off its stack */
};
struct shared {
    struct shared_slot slot[PACING_WORKERS];
    struct pacing pacing;
};
/* Descriptors of a worker. */
enum { SHARED_SOCKET_FD = 3, SHARED_TABLE_FD = 4, SHARED_TRACE_FD = 5 };
#endif
