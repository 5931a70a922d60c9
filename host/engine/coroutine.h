/* coroutine.h - stackful coroutines: what makes collectors look blocking while one loop drives them all.
 *
 * Rules: resumed only from the loop (never from inside another coroutine or a library's callback), never moved to
 * another thread, errno is saved across a switch. Stacks are 256 KiB with a guard page below, pooled and reused warm.
 */
#ifndef TROTLINE_ENGINE_COROUTINE_H
#define TROTLINE_ENGINE_COROUTINE_H
#include <stdbool.h>
#include <stddef.h>

struct coroutine;
enum { COROUTINE_STACK = 256 * 1024 };
/* Makes a coroutine that will run body(arg) at its first resume. */
struct coroutine *coroutine_new(void (*body)(void *arg), void *arg);
/* Runs it until it waits or ends; true: it has ended (and is freed). */
bool coroutine_resume(struct coroutine *c);
void coroutine_wait(void);                      /* from inside: back to whoever resumed */
struct coroutine *coroutine_current(void);      /* NULL: the loop itself */
bool coroutine_overflowed(const void *address); /* is this fault address the guard page of the running coroutine? */
void coroutine_trim(void);                      /* gives pooled stacks back to the system */
#endif
