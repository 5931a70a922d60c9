/* loader.c - a collector's file becomes a table that the host can trust the shape of, or one clear sentence why not.
 *
 * loader_permitted looks without running anything; loader_open runs the file's constructors and its entry, so it is
 * called only in a process that may die of it: the describing child, a worker, `check`. Reasons do not begin with the
 * file's name; who prints them does. Invariant: what loader_open gives has been copied at the host's size, every table
 * ends within ARGS_SLOTS entries, every field lies within its struct, every name is well-formed and stands once, every
 * default fits its type. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "engine/args_value.h"
#include "engine/loader_check.h"
#include "engine/plugin.h"
#include "net/url.h"

static const char entry_name[] = "trotline_collector_v1";
enum { TEXT_MAX = 4096, LIST_MAX = 64, STRUCT_MAX = 1 << 16 };

/* ---- before loading */

/* The owner's own group may write: it is the owner. */
static bool others_write(const struct stat *st) {
    if (st->st_mode & S_IWOTH)
        return true;
    if (!(st->st_mode & S_IWGRP))
        return false;
    struct passwd entry, *owner = NULL;
    char text[4096];
    return getpwuid_r(st->st_uid, &entry, text, sizeof text, &owner) || !owner || owner->pw_gid != st->st_gid;
}

static int check_owner(const char *path, const struct stat *st, bool folder, struct fail *why) {
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return fail_set(why, TL_INVALID, "%s%s belongs to user %lu, neither to root nor to you: change its owner",
                        folder ? "its folder " : "it", folder ? path : "", (unsigned long)st->st_uid);
    if (others_write(st))
        return fail_set(why, TL_INVALID, "%s%s can be written by others (mode %04o): chmod go-w",
                        folder ? "its folder " : "it", folder ? path : "", (unsigned)(st->st_mode & 07777));
    return TL_OK;
}

/* From the file's own folder up to the plugin folder; a link may have led further down. */
static int check_folders(const char *real, const char *top, struct fail *why) {
    char at[PATH_MAX];
    struct stat st;
    snprintf(at, sizeof at, "%s", real);
    for (;;) {
        char *slash = strrchr(at, '/');
        if (!slash)
            return TL_OK;
        slash[slash == at] = '\0';
        if (stat(at, &st))
            return fail_errno(why, TL_INVALID, "its folder %s cannot be looked at", at);
        int rc = check_owner(at, &st, true, why);
        if (rc || strcmp(at, top) == 0 || slash == at)
            return rc;
    }
}

struct machine {
    unsigned number;
    const char *name;
};
static const struct machine machines[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "arm64"},       {EM_386, "i386"},
                                          {EM_ARM, "arm"},       {EM_RISCV, "riscv"},         {EM_PPC64, "ppc64"},
                                          {EM_S390, "s390"},     {EM_LOONGARCH, "loongarch"}, {EM_MIPS, "mips"}};
#if defined(__x86_64__)
enum { OURS = EM_X86_64 };
#elif defined(__aarch64__)
enum { OURS = EM_AARCH64 };
#elif defined(__i386__)
enum { OURS = EM_386 };
#elif defined(__arm__)
enum { OURS = EM_ARM };
#elif defined(__riscv)
enum { OURS = EM_RISCV };
#elif defined(__powerpc64__)
enum { OURS = EM_PPC64 };
#elif defined(__s390__)
enum { OURS = EM_S390 };
#else
enum { OURS = EM_NONE }; /* not known here: dlopen will say */
#endif

static const char *machine_name(unsigned number) {
    for (size_t i = 0; i < COUNT_OF(machines); i++)
        if (machines[i].number == number)
            return machines[i].name;
    return "another machine";
}

/* A file that was copied half would kill its reader with SIGBUS: every segment must lie in it. */
static int check_whole(int fd, const unsigned char *header, size_t len, struct fail *why) {
    ElfW(Ehdr) h;
    ElfW(Phdr) segment;
    struct stat st;
    if (len < sizeof h || fstat(fd, &st))
        return fail_set(why, TL_INVALID, "it is too short for a shared object: its ELF header is cut off");
    memcpy(&h, header, sizeof h);
    uint64_t size = (uint64_t)st.st_size, at = h.e_phoff;
    for (unsigned i = 0; i < h.e_phnum; i++, at += h.e_phentsize) {
        bool there = h.e_phentsize >= sizeof segment && at < size && size - at >= sizeof segment &&
                     pread(fd, &segment, sizeof segment, (off_t)at) == (ssize_t)sizeof segment;
        if (!there || segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
            return fail_set(why, TL_INVALID, "it is too short for a shared object: its end is missing");
    }
    return TL_OK;
}

/* dlopen's own words for these cases help only those who know ELF. */
static int check_elf(int fd, struct fail *why) {
    unsigned char h[sizeof(Elf64_Ehdr)];
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    ssize_t n = pread(fd, h, sizeof h, 0);
    if (n < 0)
        return fail_errno(why, TL_INVALID, "it cannot be read");
    if (n == 0)
        return fail_set(why, TL_INVALID, "it is empty, not a shared object");
    if (n < SELFMAG || memcmp(h, ELFMAG, SELFMAG) != 0)
        return fail_set(why, TL_INVALID, "it is not a shared object: it does not begin with an ELF header");
    if ((size_t)n < sizeof(Elf32_Ehdr))
        return fail_set(why, TL_INVALID, "it is too short for a shared object: its ELF header is cut off");
    unsigned type = h[EI_DATA] == ELFDATA2LSB ? h[16] | h[17] << 8 : h[16] << 8 | h[17];
    unsigned machine = h[EI_DATA] == ELFDATA2LSB ? h[18] | h[19] << 8 : h[18] << 8 | h[19];
    bool same = h[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
                h[EI_DATA] == (little ? ELFDATA2LSB : ELFDATA2MSB) && (OURS == EM_NONE || machine == (unsigned)OURS);
    if (!same)
        return fail_set(why, TL_INVALID,
                        "it is a shared object for another architecture (%s, %s bit) than this trotline (%s)",
                        machine_name(machine), h[EI_CLASS] == ELFCLASS64 ? "64" : "32", machine_name(OURS));
    if (type != ET_DYN)
        return fail_set(why, TL_INVALID, "it is an ELF %s, not a shared object: link it with -shared",
                        type == ET_REL    ? "object file"
                        : type == ET_EXEC ? "program"
                                          : "file");
    return check_whole(fd, h, (size_t)n, why);
}

/* The folder that holds the name, links in it followed. */
static int folder_of(const char *file, char out[PATH_MAX], struct fail *why) {
    AUTO_FREE char *copy = mem_text(file);
    if (!realpath(dirname(copy), out))
        return fail_errno(why, TL_INVALID, "its folder cannot be found");
    return TL_OK;
}

static bool below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || (n == 1 && *folder == '/'));
}

static int sound(const char *file, char real[PATH_MAX], const char *kind, bool elf, struct fail *why) {
    char top[PATH_MAX];
    struct stat st;
    int rc = folder_of(file, top, why);
    if (rc)
        return rc;
    if (!realpath(file, real))
        return fail_errno(why, TL_INVALID, "it cannot be found");
    if (!below(real, top))
        return fail_set(why, TL_INVALID, "it is a symbolic link that leaves the %s folder (to %.300s)",
                        elf ? "plugin" : "program's", real);
    AUTO_CLOSE int fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st))
        return fail_errno(why, TL_INVALID, "it cannot be opened");
    if (!S_ISREG(st.st_mode))
        return fail_set(why, TL_INVALID, "it is not a regular file, so not %s", kind);
    if ((rc = check_owner(real, &st, false, why)) || (rc = check_folders(real, top, why)))
        return rc;
    return elf ? check_elf(fd, why) : TL_OK;
}

static int permitted(const char *file, char real[PATH_MAX], struct fail *why) {
    return sound(file, real, "a shared object", true, why);
}

int loader_permitted(const char *file, struct fail *why) {
    char real[PATH_MAX];
    return permitted(file, real, why);
}

int loader_program(const char *file, struct fail *why) {
    char real[PATH_MAX];
    int rc = sound(file, real, "a program", false, why);
    if (!rc && access(real, X_OK))
        rc = fail_errno(why, TL_INVALID, "it cannot be executed (chmod +x)");
    return rc;
}

/* ---- what it says about itself */

bool loader_name_ok(const char *name) {
    if (!name || *name < 'a' || *name > 'z')
        return false;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return n <= 64 && !name[n];
}

bool loader_version_ok(const char *version) {
    size_t n = strspn(version, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+~_-");
    return n && n <= 64 && !version[n];
}

bool loader_text_ok(const char *text) {
    size_t n = strnlen(text, TEXT_MAX + 1);
    if (n > TEXT_MAX || !utf8_valid(text, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F)
            return false;
    return true;
}

/* For names that are refused: what there is of it, one line. */
static const char *quoted(const char *name, char out[72]) {
    size_t i = 0;
    out[0] = '\0';
    if (!name)
        return "none";
    for (; i < 64 && name[i]; i++)
        out[i] = name[i] >= ' ' && name[i] < 0x7F ? name[i] : '?';
    out[i] = '\0';
    return out;
}

static size_t field_size(const struct tl_option *o) {
    if (o->flags & TL_LIST)
        return sizeof(struct tl_list);
    switch (o->type) {
    case TL_INT:
    case TL_BYTES:
    case TL_MILLIS:
        return sizeof(int64_t);
    case TL_BOOL:
        return sizeof(bool);
    default:
        return sizeof(void *);
    }
}

static int check_option(const struct tl_option *table, size_t i, size_t size, const char *what, struct fail *why) {
    const struct tl_option *o = &table[i];
    char name[72];
    if (!loader_name_ok(o->name))
        return fail_set(why, TL_INVALID, "its %s %zu has a name that is not [a-z][a-z0-9_-]*: \"%s\"", what, i + 1,
                        quoted(o->name, name));
    if (!args_type_known(o->type) || (o->flags & ~(unsigned)(TL_LIST | TL_REQUIRED | TL_HINT | TL_NAMES_HOST)))
        return fail_set(why, TL_INVALID, "its %s %s has a type that this trotline does not know (%u, flags %u)", what,
                        o->name, (unsigned)o->type, o->flags);
    if ((o->dflt && !loader_text_ok(o->dflt)) || (o->choices && !loader_text_ok(o->choices)) ||
        (o->help && !loader_text_ok(o->help)))
        return fail_set(why, TL_INVALID, "its %s %s has a default, choices or help that is not one line of UTF-8", what,
                        o->name);
    size_t width = field_size(o), align = width < sizeof(void *) ? width : sizeof(void *);
    if (width > size || o->offset > size - width || o->offset % align)
        return fail_set(why, TL_INVALID, "its %s %s lies outside its struct (offset %zu of %zu bytes)", what, o->name,
                        o->offset, size);
    for (size_t k = 0; k < i; k++) {
        if (strcmp(table[k].name, o->name) == 0)
            return fail_set(why, TL_INVALID, "its %s %s is declared twice", what, o->name);
        if (o->offset < table[k].offset + field_size(&table[k]) && table[k].offset < o->offset + width)
            return fail_set(why, TL_INVALID, "its %ss %s and %s share a field (offset %zu)", what, table[k].name,
                            o->name, o->offset);
    }
    AUTO_BUF struct buf value = BUF_INIT;
    struct args_slot slot = {
        .what = what, .name = o->name, .dflt = o->dflt, .choices = o->choices, .type = o->type, .flags = o->flags};
    struct fail bad = FAIL_INIT;
    if (args_default(&slot, &value, &bad) == TL_INVALID)
        return fail_set(why, TL_INVALID, "the default of its %s", bad.text);
    return TL_OK;
}

static int check_options(const struct tl_option *table, size_t size, const char *what, struct fail *why) {
    for (size_t i = 0; table && table[i].name; i++) {
        if (i == ARGS_SLOTS)
            return fail_set(why, TL_INVALID, "its table of %ss has no end within %d entries: end it with {0}", what,
                            (int)ARGS_SLOTS);
        int rc = check_option(table, i, size, what, why);
        if (rc)
            return rc;
    }
    return TL_OK;
}

static int check_datasets(const struct tl_dataset *d, struct fail *why) {
    char name[72];
    for (size_t i = 0; d && d[i].name; i++) {
        if (i == ARGS_SLOTS)
            return fail_set(why, TL_INVALID, "its table of datasets has no end within %d entries: end it with {0}",
                            (int)ARGS_SLOTS);
        if (!loader_name_ok(d[i].name))
            return fail_set(why, TL_INVALID, "its dataset %zu has a name that is not [a-z][a-z0-9_-]*: \"%s\"", i + 1,
                            quoted(d[i].name, name));
        if ((unsigned)d[i].kind > TL_KEY_VALUE)
            return fail_set(why, TL_INVALID, "its dataset %s has a kind that this trotline does not know (%u)",
                            d[i].name, (unsigned)d[i].kind);
        if ((d[i].tags && !loader_text_ok(d[i].tags)) || (d[i].help && !loader_text_ok(d[i].help)))
            return fail_set(why, TL_INVALID, "its dataset %s has tags or help that is not one line of UTF-8",
                            d[i].name);
        for (size_t k = 0; k < i; k++)
            if (strcmp(d[k].name, d[i].name) == 0)
                return fail_set(why, TL_INVALID, "its dataset %s is declared twice", d[i].name);
    }
    return TL_OK;
}

static bool program_ok(const char *name) {
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-");
    if (strcmp(name, "*") == 0) /* those that its option `programs` lists */
        return true;
    return n && n <= 64 && !name[n] && *name != '.' && *name != '-';
}

/* "*" alone would let a crawl that names no hosts go anywhere. */
static bool host_ok(const char *pattern) {
    AUTO_BUF struct buf out = BUF_INIT;
    return strnlen(pattern, 300) < 300 && pattern[0] && strcmp(pattern, "*") != 0 && strncmp(pattern, "*:", 2) != 0 &&
           url_host_pattern(&out, pattern) == TL_OK;
}

static int check_lists(const struct tl_collector *c, struct fail *why) {
    char name[72];
    for (size_t i = 0; c->programs && c->programs[i]; i++)
        if (i == LIST_MAX || !program_ok(c->programs[i]))
            return fail_set(why, TL_INVALID, "its list of programs has %s: \"%s\"",
                            i == LIST_MAX ? "no end within 64 entries" : "one that is not a plain name",
                            quoted(c->programs[i], name));
    for (size_t i = 0; c->hosts && c->hosts[i]; i++)
        if (i == LIST_MAX || !host_ok(c->hosts[i]))
            return fail_set(why, TL_INVALID, "its list of hosts has %s: \"%s\"",
                            i == LIST_MAX ? "no end within 64 entries" : "one that names no host",
                            quoted(c->hosts[i], name));
    return TL_OK;
}

/* ---- loading */

static int check_abi(const struct tl_collector *c, const char *file, struct fail *why) {
    const char *base = strrchr(file, '/');
    base = base ? base + 1 : file;
    if (c->abi_major != TL_ABI_MAJOR) {
        int stem = (int)strcspn(base, ".");
        return fail_set(why, TL_INVALID,
                        "%s was built for plugin interface %u.%u, this trotline has %u.%u: rebuild it with "
                        "`gcc -std=c17 -fPIC -shared $(pkg-config --cflags trotline) -o %s %.*s.c`",
                        base, c->abi_major, c->abi_minor, TL_ABI_MAJOR, TL_ABI_MINOR, base, stem, base);
    }
    if (c->struct_size < offsetof(struct tl_collector, options) || c->struct_size > STRUCT_MAX)
        return fail_set(why, TL_INVALID,
                        "its description has an impossible size (%u bytes, at least %zu): build it with TL_COLLECTOR",
                        c->struct_size, offsetof(struct tl_collector, options));
    return TL_OK;
}

static int check_collector(const struct tl_collector *c, struct fail *why) {
    char name[72];
    if (!c->name)
        return fail_set(why, TL_INVALID, "it gives no name");
    if (!loader_name_ok(c->name))
        return fail_set(why, TL_INVALID, "its name is not [a-z][a-z0-9_-]* of at most 64 letters: \"%s\"",
                        quoted(c->name, name));
    if (strcmp(c->name, "orchestrator") == 0)
        return fail_set(why, TL_INVALID, "its name, orchestrator, is that of the built-in one");
    if (!c->version || !loader_version_ok(c->version))
        return fail_set(why, TL_INVALID, "it gives no usable version (letters, digits, . + ~ _ -): \"%s\"",
                        quoted(c->version, name));
    if (c->summary && !loader_text_ok(c->summary))
        return fail_set(why, TL_INVALID, "its summary is not one line of UTF-8");
    if (!c->collect && !c->react && !c->convert)
        return fail_set(why, TL_INVALID, "it has neither collect, react nor convert");
    int rc = check_options(c->options, c->options_size, "option", why);
    if (!rc)
        rc = check_options(c->arguments, c->arguments_size, "argument", why);
    if (!rc)
        rc = check_datasets(c->datasets, why);
    return rc ? rc : check_lists(c, why);
}

/* dlerror in one line, without the file's path in front. */
static int refuse_dlopen(const char *file, struct fail *why) {
    const char *said = dlerror();
    if (!said)
        said = "dlopen failed";
    size_t n = strlen(file);
    if (strncmp(said, file, n) == 0 && strncmp(said + n, ": ", 2) == 0)
        said += n + 2;
    return fail_set(why, TL_INVALID, "it cannot be loaded: %.*s", (int)strcspn(said, "\n"), said);
}

int loader_open(const char *file, const struct tl_collector **out, struct fail *why) {
    static const struct tl_collector **kept; /* loaded for good: never freed, and not a leak */
    static size_t count, room;
    char real[PATH_MAX];
    int rc = permitted(file, real, why);
    if (rc)
        return rc;
    void *object = dlopen(real, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return refuse_dlopen(real, why);
    const struct tl_collector *(*entry)(void);
    void *symbol = dlsym(object, entry_name);
    if (!symbol)
        return fail_set(why, TL_INVALID, "it has no entry symbol %s, so it is no collector", entry_name);
    memcpy(&entry, &symbol, sizeof entry);
    const struct tl_collector *theirs = entry();
    if (!theirs)
        return fail_set(why, TL_INVALID, "its entry %s gave NULL", entry_name);
    if ((rc = check_abi(theirs, file, why)))
        return rc;
    struct tl_collector *c = mem_alloc(sizeof *c);
    size_t size = theirs->struct_size & ~(sizeof(void *) - 1);
    memcpy(c, theirs, size < sizeof *c ? size : sizeof *c);
    if ((rc = check_collector(c, why))) {
        free(c);
        return rc;
    }
    MEM_GROW(kept, count, room);
    kept[count++] = c;
    *out = c;
    return TL_OK;
}
