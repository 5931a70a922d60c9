/* super_links.c - entities in the catalog: their links with the commit of the document that says them, and which
 * document speaks of an entity now. */
#include "base/mem.h"
#include "engine/super_inside.h"
#include "net/url.h"

static bool next_link(struct message *m, struct store_link *l) {
    l->urn = message_get_text(m);
    l->name = message_get_text(m);
    l->href = message_get_text(m);
    l->type = message_get_text(m);
    l->deleted_us = message_get_i64(m);
    return !m->bad && l->urn && l->name && l->href && l->type;
}

int super_links_record(struct super *s, struct super_job *j) {
    struct message m = {.at = j->links.data, .end = j->links.data + j->links.len};
    struct store_link *list = NULL;
    size_t n = 0, room = 0;
    if (!j->document || !j->links.len)
        return TL_OK;
    for (struct store_link l; m.at < m.end && next_link(&m, &l);) {
        MEM_GROW(list, n, room);
        list[n++] = l;
    }
    int rc = store_links_put(s->store, j->run, list, n, j->wall_finished_us);
    free(list);
    return rc;
}

int super_earlier(struct super *s, const char *key, struct buf *value) {
    AUTO_BUF struct buf text = BUF_INIT;
    struct store_earlier e;
    int rc = TL_NOTFOUND;
    if (strncmp(key, "urn:", 4) == 0)
        rc = store_entity_document(s->store, key, &e);
    else if (url_canonical(&text, span_of(key)) == TL_OK)
        rc = store_url_document(s->store, key, (struct store_url){buf_span(&text), url_key(buf_span(&text))}, &e);
    if (rc)
        return rc;
    message_text(value, e.path);
    message_text(value, e.result_id);
    message_text(value, e.run_id);
    message_text(value, e.collector);
    message_text(value, e.url);
    return TL_OK;
}

enum { UNSEEN_MOST = 100, UNSEEN_BYTES = 48 << 10 };

static int add_unseen(void *ctx, const char *urn, const char *url) {
    struct buf *list = ctx;
    if (list->len + strlen(urn) + strlen(url) > UNSEEN_BYTES)
        return 1;
    message_text(list, urn);
    message_text(list, url);
    uint32_t n;
    memcpy(&n, list->data, sizeof n);
    n += 2;
    memcpy(list->data, &n, sizeof n);
    return 0;
}

int super_unseen(struct super *s, const char *siblings, struct buf *value) {
    message_u32(value, 0);
    return store_links_unseen(s->store, s->root->root, siblings, UNSEEN_MOST, add_unseen, value);
}
