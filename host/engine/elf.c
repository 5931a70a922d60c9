/* elf.c - see elf.h. 64-bit ELF of this machine's byte order. */
#include "engine/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"

enum { NAMES_MOST = 4000 };

struct image {
    const char *at;
    size_t len;
};

static const void *part(const struct image *i, uint64_t offset, uint64_t len) {
    return offset <= i->len && len <= i->len - offset ? i->at + offset : NULL;
}

/* Some compilers and linkers leave such names in every object. */
static bool is_the_linkers(const char *name) {
    static const char *const names[] = {"_init", "_fini", "__bss_start", "_edata", "_end"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int read_symbols(const struct image *i, const Elf64_Shdr *symbols, const Elf64_Shdr *strings, struct buf *names,
                        size_t *count) {
    uint64_t n = symbols->sh_size / sizeof(Elf64_Sym);
    const char *table = part(i, symbols->sh_offset, symbols->sh_size),
               *text = part(i, strings->sh_offset, strings->sh_size);
    if (!table || !text || strings->sh_size == 0 || text[strings->sh_size - 1] != '\0')
        return TL_INVALID;
    for (uint64_t k = 0; k < n; k++) {
        Elf64_Sym s;
        memcpy(&s, table + k * sizeof s, sizeof s);
        int bind = ELF64_ST_BIND(s.st_info), visibility = ELF64_ST_VISIBILITY(s.st_other);
        if (s.st_shndx == SHN_UNDEF || bind == STB_LOCAL ||
            (visibility != STV_DEFAULT && visibility != STV_PROTECTED) || s.st_name >= strings->sh_size)
            continue;
        if (is_the_linkers(text + s.st_name))
            continue;
        if ((*count)++ && names->len < NAMES_MOST)
            buf_char(names, ' ');
        if (names->len < NAMES_MOST)
            buf_text(names, text + s.st_name);
    }
    return TL_OK;
}

static int read_image(const struct image *i, struct buf *names, size_t *count) {
    const char *head = part(i, 0, sizeof(Elf64_Ehdr));
    Elf64_Ehdr e;
    if (!head)
        return TL_INVALID;
    memcpy(&e, head, sizeof e);
    if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
        e.e_shentsize != sizeof(Elf64_Shdr))
        return TL_INVALID;
    const char *sections = part(i, e.e_shoff, (uint64_t)e.e_shnum * sizeof(Elf64_Shdr));
    for (unsigned k = 0; sections && k < e.e_shnum; k++) {
        Elf64_Shdr s, strings;
        memcpy(&s, sections + k * sizeof s, sizeof s);
        if (s.sh_type != SHT_DYNSYM || s.sh_link >= e.e_shnum)
            continue;
        memcpy(&strings, sections + s.sh_link * sizeof strings, sizeof strings);
        return read_symbols(i, &s, &strings, names, count);
    }
    return TL_INVALID;
}

int elf_exported(const char *file, struct buf *names, size_t *count) {
    AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
    struct stat st;
    *count = 0;
    if (fd < 0 || fstat(fd, &st) || st.st_size <= 0)
        return TL_INVALID;
    struct image i = {mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0), (size_t)st.st_size};
    if (i.at == MAP_FAILED)
        return TL_INVALID;
    int rc = read_image(&i, names, count);
    munmap((void *)(uintptr_t)i.at, i.len);
    return rc;
}
