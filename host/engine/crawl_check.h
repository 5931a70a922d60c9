/* crawl_check.h - do the lines of a crawl file fit the collectors that are installed? */
#ifndef TROTLINE_ENGINE_CRAWL_CHECK_H
#define TROTLINE_ENGINE_CRAWL_CHECK_H
#include "engine/config.h"
#include "engine/plugin.h"

/* Every line and route: its collector must be there, and take its arguments. The first that does not fit, with its
 * place; EXIT_PLUGIN, EXIT_CONFIG, or EXIT_USAGE when there is no file. */
int crawl_check(const struct crawl *crawl, const struct config *c, const struct plugin_set *set, struct fail *why);
/* The first name of a secret in its lines that the configuration does not have. A crawl is carried out all the same:
 * other lines may do without. TL_NOTFOUND, EXIT_CONFIG. */
int crawl_check_secrets(const struct crawl *crawl, const struct config *c, const struct plugin_set *set,
                        struct fail *why);
#endif
