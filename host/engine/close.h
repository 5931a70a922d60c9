/* close.h - the end of a crawl: its closing record in the lake, and the catalog's word that it is closed.
 *
 * Order: both files are written into staging and durable; one transaction closes the crawl; ROOT.jsonl is published,
 * then ROOT.json. So ROOT.json in the lake means: there is a whole package. A crawl that is closed and has no ROOT.json
 * gets both written again, which gives the same bytes, for they depend on the catalog's rows alone.
 *
 * Documents are never replaced, but a crawl that was opened again (trotline retry) is not what its closing record says
 * any more: when it is closed anew, the earlier record is withdrawn before the transaction and the new one takes its
 * name. Until then the earlier one stands, and a rebuild gives the crawl as it was at that time. */
#ifndef TROTLINE_ENGINE_CLOSE_H
#define TROTLINE_ENGINE_CLOSE_H
#include "lake/lake.h"
#include "store/store.h"

/* Outside a transaction; nothing of the crawl is queued or leased. Only root->root_id is looked at. Texts of an earlier
 * store_crawl_by_* are no longer valid afterwards. A crawl that is closed already only gets what is missing. */
int close_crawl(struct store *s, struct lake *l, const struct store_crawl *root, const char *reason, struct fail *why);
/* Writes again what is missing of closed crawls. For recover.c; count: how many crawls. */
int close_recover(struct store *s, struct lake *l, int64_t *count, struct fail *why);
#endif
