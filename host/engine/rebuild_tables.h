/* rebuild_tables.h - what the records of the lake say of tables, into the catalog. See table_record.h.
 *
 * A record comes back whole or not at all. Documents that the catalog does not know, or has another result of, are
 * passed over: their rows stay where they are. */
#ifndef TROTLINE_ENGINE_REBUILD_TABLES_H
#define TROTLINE_ENGINE_REBUILD_TABLES_H
#include "lake/lake.h"
#include "store/store.h"

/* One record, after all crawls and the records that it builds on. `path` is below the lake. *files: that it made known.
 * A record that the catalog knows is nothing to do. */
int rebuild_tables(struct store *s, struct lake *l, const char *path, int64_t *files, struct fail *why);
/* After the last: files that others took the place of are forgotten where they are gone. The next writer removes those
 * that are still there. */
int rebuild_tables_end(struct store *s, struct lake *l, struct fail *why);
#endif
