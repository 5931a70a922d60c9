/* program.h - this program as its own child: where its file is, and what environment its children get. */
#ifndef TROTLINE_ENGINE_PROGRAM_H
#define TROTLINE_ENGINE_PROGRAM_H
void program_setup(void);       /* once, at start: resolves /proc/self/exe, so that an upgrade in mid-run is noticed */
const char *program_path(void); /* /proc/self/exe when it could not be resolved */
/* LC_ALL and TZ=UTC alone, and what test tools need: ASAN_OPTIONS, UBSAN_OPTIONS, LSAN_OPTIONS, LD_PRELOAD,
 * TROTLINE_FAULT. */
char *const *program_environment(void);
#endif
