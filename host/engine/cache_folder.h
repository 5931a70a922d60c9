/* cache_folder.h - where a collector keeps what shall survive its runs: a folder of its own in the user's cache. */
#ifndef TROTLINE_ENGINE_CACHE_FOLDER_H
#define TROTLINE_ENGINE_CACHE_FOLDER_H
/* Its path, allocated; made, with mode 0700, if it can be. otherwise: where ".cache" stands when there is no HOME. */
char *cache_folder(const char *otherwise, const char *collector);
#endif
