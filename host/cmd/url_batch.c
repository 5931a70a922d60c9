/* url_batch.c - trotline url -: many URLs, one line of JSON for each line that comes in, in the same order.
 *
 * Invariant: a line is answered before the next is read, whatever it holds; what is no URL is answered with its error.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/json_write.h"
#include "base/log.h"
#include "cmd/url.h"
#include "net/url.h"

/* false: the input is over. What a line has beyond URL_MAX is dropped, and makes it too long. */
static bool read_line(FILE *in, struct buf *line, bool *too_long) {
    int c, any = 0;
    buf_reset(line);
    *too_long = false;
    while ((c = getc_unlocked(in)) != EOF && c != '\n') {
        any = 1;
        if (line->len < URL_MAX)
            buf_char(line, (char)c);
        else
            *too_long = true;
    }
    if (line->len && line->data[line->len - 1] == '\r')
        line->data[--line->len] = '\0';
    return c != EOF || any;
}

static int answer(struct json_writer *w, struct store *s, struct tl_span line, struct fail *why) {
    struct url_found f;
    char key[24];
    int rc = url_find(s, line, &f, why);
    if (rc == TL_OK) {
        snprintf(key, sizeof key, "%" PRIu64, url_key(buf_span(&f.url)));
        json_member_span(w, "canonical", buf_span(&f.url));
        json_member_string(w, "key", key);
        json_member_bool(w, "known", f.steps > 0);
        json_member_int(w, "documents", f.documents);
        json_member_string(w, "run_id", f.run[0] ? f.run : NULL);
        json_member_string(w, "result_id", f.result[0] ? f.result : NULL);
        json_member_string(w, "collected_at", f.at[0] ? f.at : NULL);
    }
    url_found_free(&f);
    return rc;
}

int url_batch(struct cmd_open *o) {
    AUTO_BUF struct buf line = BUF_INIT, out = BUF_INIT;
    bool too_long;
    while (read_line(stdin, &line, &too_long)) {
        struct fail why = FAIL_INIT;
        struct json_writer w = JSON_WRITER(&out);
        buf_reset(&out);
        json_object_begin(&w);
        json_member_span(&w, "url", buf_span(&line));
        if (too_long)
            json_member_string(&w, "error", "it is longer than a URL may be");
        else if (answer(&w, o->store, buf_span(&line), &why)) {
            if (why.exit_code != EXIT_USAGE)
                return cmd_fail(&why, EXIT_INTERNAL);
            json_member_string(&w, "error", why.text);
        }
        json_object_end(&w);
        buf_char(&out, '\n');
        fwrite(out.data, 1, out.len, stdout);
        if (!cmd_flush(stdout))
            return EXIT_DISK;
    }
    if (!ferror(stdin))
        return EXIT_DONE;
    log_error("url -: the URLs cannot be read on: %s; those before this were answered", strerrordesc_np(errno));
    return EXIT_USAGE;
}
