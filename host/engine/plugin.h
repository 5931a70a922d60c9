/* plugin.h - what is known about collectors without loading them: descriptions, and why a file was refused.
 *
 * The supervisor never loads a plugin. A description is made by a throw-away child (`trotline --describe FILE`) that
 * loads the .so and prints JSON, under a deadline; it is cached in the user's cache folder by the file's SHA-256. */
#ifndef TROTLINE_ENGINE_PLUGIN_H
#define TROTLINE_ENGINE_PLUGIN_H
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/hash.h"
#include "trotline.h"

struct plugin_option {
    char *name, *dflt, *choices, *help; /* NULL: none */
    enum tl_type type;
    unsigned flags;
};
struct plugin_dataset {
    char *name, *tags, *help;
    enum tl_kind kind;
};
struct config_apis;
struct plugin {
    char *file; /* absolute path; NULL: built in */
    char sha256[SHA256_HEX];
    char *name, *version, *summary;
    unsigned abi_major, abi_minor;
    bool can_collect, can_react, can_convert;
    struct plugin_option *option, *argument;
    size_t option_count, argument_count;
    struct plugin_dataset *dataset;
    size_t dataset_count;
    char **program, **host;         /* NULL-ended; NULL: none */
    char *shadowed_by;              /* a file in an earlier folder that has the same name; NULL: in force */
    const struct config_apis *apis; /* by which its arguments are made whole (args_check); NULL: none. Not its own */
};
struct plugin_refusal {
    char *file, *reason; /* one clear sentence */
};
struct plugin_set {
    struct plugin *plugin; /* [0] is the built-in orchestrator */
    size_t count;
    struct plugin_refusal *refused;
    size_t refused_count;
};
/* Looks through the folders in order (a missing one is no fault) and describes every *.so in them. Never fails as a
 * whole. */
void plugin_scan(struct plugin_set *set, const char *const *folders, size_t n);
void plugin_set_free(struct plugin_set *set);
const struct plugin *plugin_find(const struct plugin_set *set, const char *name); /* in force, or NULL */
/* Why a name cannot be used: the refusal of NAME.so if there is one, else the nearest known name and the folders
 * searched. */
int plugin_missing(const struct plugin_set *set, const char *name, const char *const *folders, size_t n,
                   struct fail *why);
int plugin_describe_main(
    const char *file); /* the throw-away child: prints the description or {"error": ...}; exit code */
void plugin_json(struct buf *out, const struct plugin *p); /* the description as one JSON object */

/* ---- loader.c: in the process that may die of it */
/* Owner and mode of the file and its folder, symlinks, ELF header, dlopen(RTLD_NOW | RTLD_LOCAL), entry, size, ABI,
 * tables: one clear sentence each. Never dlclosed. *out lives as long as the process: a host-sized copy in which fields
 * the file does not know are NULL. */
int loader_open(const char *file, const struct tl_collector **out, struct fail *why);
int loader_permitted(const char *file,
                     struct fail *why); /* the checks that need no loading; used before a child is started, too */
int loader_program(const char *file,
                   struct fail *why); /* the same for an executable that a collector runs: owner, mode, folders */
#endif
