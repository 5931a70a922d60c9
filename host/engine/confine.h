/* confine.h - what a worker may still do once its collector's code runs in it: less.
 *
 * No new privileges; files by Landlock: system libraries, certificates, name resolution, the plugin and the lake to
 * read, the staging and cache folders to write, nothing else; system calls by a seccomp filter: no new programs or
 * processes, no ptrace, no mounts, no signals to others. Each where the kernel has it. A worker keeps the network: a
 * native collector could go around tl_fetch, which is why collectors that are not trusted run as executables (they get
 * none: confine_offline, in shim.c). Who only describes a collector has none, and writes nothing (plugin_child.c). */
#ifndef TROTLINE_ENGINE_CONFINE_H
#define TROTLINE_ENGINE_CONFINE_H
#include <stdbool.h>
#include <stddef.h>

struct confine {
    const char *const *read;  /* files and folders, NULL-ended; those that are not there are skipped */
    const char *const *write; /* folders, NULL-ended */
    size_t memory;            /* bytes of address space; 0: no limit */
    size_t descriptors;       /* 0: no limit of ours */
    bool offline;             /* no sockets, either */
};
/* For the rest of this process's life. What the kernel cannot do is left out; `bits` (may be NULL) says what is in
 * force. */
enum { CONFINE_PRIVILEGES = 1, CONFINE_FILES = 2, CONFINE_CALLS = 4, CONFINE_LIMITS = 8 };
void confine_here(const struct confine *c, unsigned *bits);
/* For a program that is to have no network: no socket of any kind (but stream pairs), and none of the ways to get at
 * another process's; files are written below that folder only (by Landlock, where the kernel has it). false: the kernel
 * has no filters, nothing is safe. */
bool confine_offline(const char *write_folder);
int confine_landlock_abi(void); /* 0: the kernel has none */
bool confine_seccomp(void);     /* does the kernel have filters? */
#endif
