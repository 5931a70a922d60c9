/* names.c - the words for states, edges and reasons, in the order of the enumerations of store.h; the same for every
 * implementation. */
#include "store/store.h"

const char *const store_state_name[STORE_STATES] = {
    "queued", "leased", "success", "partial", "failed", "crashed", "refused", "cancelled", "not_modified", "cached",
};
const char *const store_edge_name[STORE_EDGES] = {"spawn", "page", "react", "cached", "canonical_of", "promoted"};
const char *const store_reason_name[STORE_REASONS] = {
    "", "depth", "fanout", "runs", "bytes", "time", "hosts", "robots", "guard",
};
