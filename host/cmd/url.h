/* url.h - what the parts of `trotline url` share, and the way from any spelling of a URL to what the catalog has of it.
 */
#ifndef TROTLINE_CMD_URL_H
#define TROTLINE_CMD_URL_H
#include "cmd/cmd.h"

enum { URL_WAY_MOST = 8 };
struct url_found {
    struct buf text;           /* canonical text of what was given, perhaps without its trackers */
    uint64_t key;              /* of text */
    bool trackers_gone;        /* only without them it is known */
    int64_t way[URL_WAY_MOST]; /* url_id of text, and of what it leads to, one after the other */
    size_t steps;              /* 0: not known */
    struct buf url;            /* what it leads to in the end; text when it is not known */
    int64_t documents;         /* of all of the way */
    char run[UUID_TEXT], result[UUID_TEXT],
        at[40]; /* of the newest that came well, of the last URL of the way that has one; empty: none */
};
/* TL_INVALID: no URL that has a key. Not known is no fault. To be freed in any case. */
int url_find(struct store *s, struct tl_span given, struct url_found *out, struct fail *why);
void url_found_free(struct url_found *f);

int url_show(struct cmd_open *o, struct url_found *f, bool json); /* each prints, and returns an exit code */
int url_batch(struct cmd_open *o);

int cat_dataset(const struct cmd_open *o, const char *run_id,
                const char *dataset); /* cat.c: original bytes to stdout; an exit code */
#endif
