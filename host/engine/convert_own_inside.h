/* convert_own_inside.h - the frames that convert_own.c and convert_own_main.c exchange: a head of three numbers, then
 * the bytes that it announces. Both ends are the same program. */
#ifndef TROTLINE_ENGINE_CONVERT_OWN_INSIDE_H
#define TROTLINE_ENGINE_CONVERT_OWN_INSIDE_H

#define CONVERT_OWN_MEMORY "TROTLINE_CONVERT_MEMORY"
enum { CONVERT_OWN_HEAD = 3, CONVERT_OWN_HEAD_MAX = 4 << 20 };
enum {
    CONVERT_OWN_OPTIONS = 1, /* length: a JSON object */
    CONVERT_OWN_DOCUMENT,    /* length: its bytes */
    CONVERT_OWN_ITEM,        /* length of its head (JSON), length of its data */
    CONVERT_OWN_DONE,        /* length 0 */
    CONVERT_OWN_FAILED       /* length: why */
};
#endif
