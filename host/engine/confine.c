/* confine.c - see confine.h. Raw system calls: glibc has no wrappers for Landlock, and a filter of this size needs no
 * library. */
#include "engine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

/* What every worker reads: libraries and their data, certificates, and what name resolution asks. Not /etc as a whole.
 */
static const char *const system_read[] = {"/usr",
                                          "/lib",
                                          "/lib64",
                                          "/lib32",
                                          "/etc/ssl",
                                          "/etc/pki",
                                          "/etc/ca-certificates",
                                          "/etc/resolv.conf",
                                          "/etc/hosts",
                                          "/etc/host.conf",
                                          "/etc/nsswitch.conf",
                                          "/etc/gai.conf",
                                          "/etc/services",
                                          "/etc/protocols",
                                          "/etc/ld.so.cache",
                                          "/etc/ld.so.preload",
                                          "/etc/localtime",
                                          "/etc/alternatives",
                                          "/run/systemd/resolve",
                                          "/run/nscd",
                                          "/dev/null",
                                          "/dev/zero",
                                          "/dev/urandom",
                                          "/dev/random",
                                          "/proc/self",
                                          "/proc/cpuinfo",
                                          "/proc/meminfo",
                                          "/sys/devices/system/cpu",
                                          "/sys/fs/cgroup",
                                          NULL};

int confine_landlock_abi(void) {
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

bool confine_seccomp(void) {
    return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

enum { READING = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR };

static uint64_t handled(int abi) {
    uint64_t all = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                   LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                   LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                   LANDLOCK_ACCESS_FS_MAKE_SYM;
    if (abi >= 2)
        all |= LANDLOCK_ACCESS_FS_REFER;
    if (abi >= 3)
        all |= LANDLOCK_ACCESS_FS_TRUNCATE;
    return all;
}

static void allow(int rules, const char *path, uint64_t access) {
    AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return;
    if (!S_ISDIR(st.st_mode)) /* the kernel refuses folder rights for a file */
        access &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |
                  LANDLOCK_ACCESS_FS_TRUNCATE;
    const struct landlock_path_beneath_attr attr = {.allowed_access = access, .parent_fd = fd};
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attr, 0);
}

/* Writing alone, and, where the kernel can, no TCP, no abstract sockets, no signals to who is not confined in the same
 * way. Whatever the rules say, who has some cannot look into the memory of who has not: the supervisor's sockets are
 * out of reach. */
static bool restrict_writing(const char *folder) {
    int abi = confine_landlock_abi();
    const struct {
        uint64_t fs, net, scoped; /* as later kernels have it than the headers may know */
    } attr = {handled(abi) & ~(uint64_t)(READING | LANDLOCK_ACCESS_FS_EXECUTE), abi >= 4 ? 3 : 0, abi >= 6 ? 3 : 0};
    if (!abi)
        return false;
    AUTO_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (rules < 0)
        return false;
    allow(rules, folder, attr.fs & ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK));
    allow(rules, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
    return syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

static bool restrict_files(const struct confine *c) {
    int abi = confine_landlock_abi();
    if (!abi)
        return false;
    const struct landlock_ruleset_attr attr = {.handled_access_fs = handled(abi)};
    AUTO_CLOSE int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (rules < 0)
        return false;
    for (size_t i = 0; system_read[i]; i++)
        allow(rules, system_read[i],
              READING |
                  LANDLOCK_ACCESS_FS_EXECUTE); /* execute: mapping libraries; new programs are the filter's business */
    for (size_t i = 0; c->read && c->read[i]; i++)
        allow(rules, c->read[i], READING | LANDLOCK_ACCESS_FS_EXECUTE);
    for (size_t i = 0; c->write && c->write[i]; i++)
        allow(rules, c->write[i],
              handled(abi) & ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                         LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SOCK));
    return syscall(SYS_landlock_restrict_self, rules, 0) == 0;
}

/* ---- system calls */

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE
static const int refused[] = {
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_quotactl,
    SYS_mknodat,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_capset,
    SYS_pidfd_send_signal,
    SYS_tkill,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
    SYS_mknod,
#endif
};
/* Sockets; and what would take them from another process, from the kernel by a side door, or give a network of its own
 * making. */
static const int offline[] = {
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_by_handle_at,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_setsid,
    SYS_setpgid /* what it starts ends with it */,
#ifdef SYS_fsopen
    SYS_fsopen,
    SYS_move_mount,
    SYS_open_tree,
#endif
};
#define LOAD(field)     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ARGUMENT_LOW(n) (offsetof(struct seccomp_data, args) + 8 * (n)) /* both machines are little-endian */
#define DENY            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

struct filter {
    struct sock_filter step[256];
    unsigned short n;
};

static void filter_deny(struct filter *f, const int *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        f->step[f->n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)list[i], 0, 1);
        f->step[f->n++] = (struct sock_filter)DENY;
    }
}

/* This machine's calls only, none of the list; and clone3, whose flags cannot be seen, is one that the kernel lacks:
 * libc uses clone. */
static void filter_begin(struct filter *f, const int *list, size_t count) {
    f->n = 0;
    f->step[f->n++] = (struct sock_filter)LOAD(arch);
    f->step[f->n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    f->step[f->n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    f->step[f->n++] = (struct sock_filter)LOAD(nr);
    f->step[f->n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); /* x32 */
    f->step[f->n++] = (struct sock_filter)DENY;
    filter_deny(f, list, count);
    f->step[f->n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    f->step[f->n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
}

static bool filter_apply(struct filter *f) {
    f->step[f->n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {.len = f->n, .filter = f->step};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static bool restrict_calls(bool no_network) {
    struct filter f;
    filter_begin(&f, refused, COUNT_OF(refused));
    if (no_network)
        filter_deny(&f, offline, COUNT_OF(offline));
    /* threads (the resolver's) yes, processes no */
    f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT_LOW(0));
    f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
    f.step[f.n++] = (struct sock_filter)DENY;
    f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    /* signals to itself only: abort() and raise() need that */
    static const int signals[] = {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo};
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)signals[i], 0, 4);
        f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT_LOW(0));
        f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)getpid(), 1, 0);
        f.step[f.n++] = (struct sock_filter)DENY;
        f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    return filter_apply(&f);
}

enum {
    NEW_SPACES =
        CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP
};

static bool restrict_network(void) {
    struct filter f;
    filter_begin(&f, offline, COUNT_OF(offline));
    /* processes yes, with name spaces of their own no */
    f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT_LOW(0));
    f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_SPACES, 0, 1);
    f.step[f.n++] = (struct sock_filter)DENY;
    f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    /* a pair of streams leads to nobody else; a datagram socket of a pair could still send anywhere */
    f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socketpair, 0, 4);
    f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT_LOW(1));
    f.step[f.n++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf);
    f.step[f.n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1 /* SOCK_STREAM */, 1, 0);
    f.step[f.n++] = (struct sock_filter)DENY;
    return filter_apply(&f);
}
#else
static bool restrict_calls(bool no_network) {
    (void)no_network;
    return false;
}
static bool restrict_network(void) {
    return false;
}
#endif

bool confine_offline(const char *write_folder) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return false;
    restrict_writing(write_folder);
    return restrict_network();
}

static bool limit(int what, size_t most) {
    const struct rlimit l = {most, most};
    return most && setrlimit((__rlimit_resource_t)what, &l) == 0;
}

void confine_here(const struct confine *c, unsigned *bits) {
    unsigned done = 0;
    bool some = limit(RLIMIT_NOFILE, c->descriptors);
    limit(RLIMIT_CORE, 0);
#if !defined(__SANITIZE_ADDRESS__) /* which maps terabytes */
    some = limit(RLIMIT_AS, c->memory) || some;
#endif
    done |= some ? CONFINE_LIMITS : 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        done |= CONFINE_PRIVILEGES;
    if (done & CONFINE_PRIVILEGES) { /* both need it */
        done |= restrict_files(c) ? CONFINE_FILES : 0;
        done |= restrict_calls(c->offline) ? CONFINE_CALLS : 0;
    }
    if (bits)
        *bits = done;
}
