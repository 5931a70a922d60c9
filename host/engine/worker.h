/* worker.h - the process that loads one collector and runs it: one loop, one thread, a coroutine per run in flight. */
#ifndef TROTLINE_ENGINE_WORKER_H
#define TROTLINE_ENGINE_WORKER_H
/* `trotline --worker SLOT`: never returns. */
_Noreturn void worker_main(const char *slot);
#endif
