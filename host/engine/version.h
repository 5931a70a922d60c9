/* version.h - TROTLINE_VERSION, from configure. <config.h> is the build's, not engine/config.h. */
#ifndef TROTLINE_ENGINE_VERSION_H
#define TROTLINE_ENGINE_VERSION_H
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#ifdef PACKAGE_VERSION
#define TROTLINE_VERSION PACKAGE_VERSION
#else
#define TROTLINE_VERSION "0.0.0"
#endif
#endif
