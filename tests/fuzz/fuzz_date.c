/* fuzz_date.c - any bytes as a date: what is accepted is in the years 1 to 9999, and its RFC 3339 text means the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "net/date.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what) {
    if (!what)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t us = 0, again = 0;
    enum date_quality quality, exact;
    char text[TIME_TEXT];
    int rc = date_parse((struct tl_span){(const char *)data, size}, &us, &quality);
    must(rc == TL_OK || rc == TL_INVALID);
    if (rc != TL_OK)
        return 0;
    must(quality == DATE_EXACT || quality == DATE_ZONE_ASSUMED || quality == DATE_GUESSED);
    must(time_civil(us).year >= 1 && time_civil(us).year <= 9999);
    must(date_parse(span_of(date_text(us, text)), &again, &exact) == TL_OK && again == us && exact == DATE_EXACT);
    must(time_parse(span_of(text), &again) == TL_OK && again == us);
    return 0;
}
