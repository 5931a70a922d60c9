/* replay.c - runs files through a fuzz target without a fuzzer: link it with one fuzz_*.c, compiled with -DFUZZ_REPLAY.
 *
 * Arguments are files and folders (their files, not their subfolders), in the order of their names; TAP comes out.
 * Without arguments it is the seed corpus, tests/data/fuzz/FUZZ_NAME. A target that dislikes an input aborts: the last
 * line says which one it was. With no input at all the run fails.
 * Without FUZZ_REPLAY this file is empty, and libFuzzer's own main is linked. */
#ifdef FUZZ_REPLAY
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LONGEST_INPUT = 16 << 20, LONGEST_PATH = 4096 };
static int count, bad;

static void report(bool ok, const char *path) {
    bad += !ok;
    printf("%sok %d - %s\n", ok ? "" : "not ", ++count, path);
}

static void run_file(const char *path, size_t size) {
    printf("# %s\n", path);
    fflush(stdout);
    FILE *f = fopen(path, "rb");
    uint8_t *data =
        malloc(size ? size : 1); /* exactly as long as the input, so that a sanitizer sees a byte too many */
    bool ok = f && data && size <= LONGEST_INPUT && fread(data, 1, size, f) == size;
    if (ok)
        LLVMFuzzerTestOneInput(data, size);
    free(data);
    if (f)
        fclose(f);
    report(ok, path);
}

static void run_path(const char *path, bool folders) {
    struct stat st;
    if (stat(path, &st)) {
        report(false, path);
    } else if (S_ISREG(st.st_mode)) {
        run_file(path, (size_t)st.st_size);
    } else if (S_ISDIR(st.st_mode) && folders) {
        struct dirent **names;
        int n = scandir(path, &names, NULL, alphasort);
        for (int i = 0; i < n; i++) {
            char inside[LONGEST_PATH];
            int len = snprintf(inside, sizeof inside, "%s/%s", path, names[i]->d_name);
            if (names[i]->d_name[0] != '.' && len > 0 && len < LONGEST_PATH)
                run_path(inside, false);
            free(names[i]);
        }
        if (n >= 0)
            free(names);
        else
            report(false, path);
    }
}

#ifdef FUZZ_NAME
static void run_seeds(void) {
    const char *data = getenv("TROTLINE_TEST_DATA");
    char path[LONGEST_PATH];
    snprintf(path, sizeof path, "%s/fuzz/" FUZZ_NAME, data ? data : "tests/data");
    run_path(path, true);
}
#else
static void run_seeds(void) {}
#endif

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        run_path(argv[i], true);
    if (argc < 2)
        run_seeds();
    if (!count)
        report(false, "no input");
    printf("1..%d\n", count);
    return bad ? 1 : 0;
}
#else
extern int replay_is_empty; /* a file of C must declare something */
#endif
