/* super_cookies.c - the jar of a crawl: what one worker heard, all know before they get runs that came of it.
 *
 * Invariant: the jar is here, workers have copies. A worker tells of a cookie before it tells that its run is done, and
 * a socket keeps the order; so whoever fetches what that run found has its cookies. Nothing of it is ever written
 * down: with the crawl's process it is gone. */
#include "base/times.h"
#include "engine/super_inside.h"

void super_cookie_heard(struct super *s, struct super_worker *from, struct message *m) {
    const struct cookie c = message_get_cookie(m);
    if (m->bad)
        return;
    if (!s->cookies)
        s->cookies = cookies_new();
    if (cookies_put(s->cookies, &c, time_now_us())) {
        m->bad = true;
        return;
    }
    message_start(&s->message, MESSAGE_COOKIE);
    message_cookie(&s->message, &c);
    for (struct super_collector *x = s->collector; x; x = x->next)
        for (struct super_worker *w = x->worker; w; w = w->next)
            if (w != from)
                port_send(&w->port, &s->message);
}

void super_cookies_send(struct super *s, struct super_worker *w) {
    for (size_t i = 0; s->cookies && i < cookies_count(s->cookies); i++) {
        message_start(&s->message, MESSAGE_COOKIE);
        message_cookie(&s->message, cookies_at(s->cookies, i));
        port_send(&w->port, &s->message);
    }
}
