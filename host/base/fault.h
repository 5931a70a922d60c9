/* fault.h - points at which a test may make the program die, compiled in with --enable-faults only.
 *
 * TROTLINE_FAULT="NAME:N" kills the process with SIGKILL the Nth time that the point NAME is passed. */
#ifndef TROTLINE_BASE_FAULT_H
#define TROTLINE_BASE_FAULT_H
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#ifdef TROTLINE_FAULTS
void fault_point(const char *name);
#define FAULT_POINT(name) fault_point(name)
#else
#define FAULT_POINT(name) ((void)0)
#endif
#endif
