/* charset.c - see charset.h. The labels and the rules are those of the WHATWG standards (Encoding; HTML, 13.2.3); the
 * tables of the encodings are the C library's.
 *
 * Invariant: a text that comes out is valid UTF-8, whatever went in, and is at most three times as long and three
 * bytes. */
#include "net/charset.h"

#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

/* clang-format off */
enum how { UTF8, SINGLE, MULTI, WIDE, USER, NONE }; /* SINGLE: one byte a character; WIDE: UTF-16 */
enum id {
    UTF_8, IBM866, ISO_8859_2, ISO_8859_3, ISO_8859_4, ISO_8859_5, ISO_8859_6, ISO_8859_7, ISO_8859_8, ISO_8859_8_I,
    ISO_8859_10, ISO_8859_13, ISO_8859_14, ISO_8859_15, ISO_8859_16, KOI8_R, KOI8_U, MACINTOSH, WINDOWS_874,
    WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257,
    WINDOWS_1258, X_MAC_CYRILLIC, GBK, GB18030, REPLACEMENT, BIG5, EUC_JP, ISO_2022_JP, SHIFT_JIS, EUC_KR, UTF_16BE,
    UTF_16LE, X_USER_DEFINED
};
/* decoder: what reads pages that say they are in this encoding. encoder: what programs elsewhere know by exactly this
 * name, which is smaller for some; NULL: there is none, so nobody could turn the text back into bytes. */
static const struct encoding {
    const char *name, *decoder, *encoder;
    enum how how;
} encodings[] = {
    [UTF_8] = {"utf-8", NULL, NULL, UTF8},
    [IBM866] = {"ibm866", "IBM866", "IBM866", SINGLE},
    [ISO_8859_2] = {"iso-8859-2", "ISO-8859-2", "ISO-8859-2", SINGLE},
    [ISO_8859_3] = {"iso-8859-3", "ISO-8859-3", "ISO-8859-3", SINGLE},
    [ISO_8859_4] = {"iso-8859-4", "ISO-8859-4", "ISO-8859-4", SINGLE},
    [ISO_8859_5] = {"iso-8859-5", "ISO-8859-5", "ISO-8859-5", SINGLE},
    [ISO_8859_6] = {"iso-8859-6", "ISO-8859-6", "ISO-8859-6", SINGLE},
    [ISO_8859_7] = {"iso-8859-7", "ISO-8859-7", "ISO-8859-7", SINGLE},
    [ISO_8859_8] = {"iso-8859-8", "ISO-8859-8", "ISO-8859-8", SINGLE},
    [ISO_8859_10] = {"iso-8859-10", "ISO-8859-10", "ISO-8859-10", SINGLE},
    [ISO_8859_13] = {"iso-8859-13", "ISO-8859-13", "ISO-8859-13", SINGLE},
    [ISO_8859_14] = {"iso-8859-14", "ISO-8859-14", "ISO-8859-14", SINGLE},
    [ISO_8859_15] = {"iso-8859-15", "ISO-8859-15", "ISO-8859-15", SINGLE},
    [ISO_8859_16] = {"iso-8859-16", "ISO-8859-16", "ISO-8859-16", SINGLE},
    [ISO_8859_8_I] = {"iso-8859-8-i", "ISO-8859-8", NULL, SINGLE},
    [KOI8_R] = {"koi8-r", "KOI8-R", "KOI8-R", SINGLE},
    [KOI8_U] = {"koi8-u", "KOI8-U", "KOI8-U", SINGLE},
    [MACINTOSH] = {"macintosh", "MACINTOSH", "MACINTOSH", SINGLE},
    [WINDOWS_874] = {"windows-874", "CP874", NULL, SINGLE},
    [WINDOWS_1250] = {"windows-1250", "CP1250", "CP1250", SINGLE},
    [WINDOWS_1251] = {"windows-1251", "CP1251", "CP1251", SINGLE},
    [WINDOWS_1252] = {"windows-1252", "CP1252", "CP1252", SINGLE},
    [WINDOWS_1253] = {"windows-1253", "CP1253", "CP1253", SINGLE},
    [WINDOWS_1254] = {"windows-1254", "CP1254", "CP1254", SINGLE},
    [WINDOWS_1255] = {"windows-1255", "CP1255", "CP1255", SINGLE},
    [WINDOWS_1256] = {"windows-1256", "CP1256", "CP1256", SINGLE},
    [WINDOWS_1257] = {"windows-1257", "CP1257", "CP1257", SINGLE},
    [WINDOWS_1258] = {"windows-1258", "CP1258", "CP1258", SINGLE},
    [X_MAC_CYRILLIC] = {"x-mac-cyrillic", "MAC-UK", NULL, SINGLE},
    [GBK] = {"gbk", "GB18030", "GBK", MULTI},
    [GB18030] = {"gb18030", "GB18030", "GB18030", MULTI},
    [REPLACEMENT] = {"replacement", NULL, NULL, NONE},
    [BIG5] = {"big5", "BIG5-HKSCS", "BIG5", MULTI},
    [EUC_JP] = {"euc-jp", "EUC-JP-MS", "EUC-JP", MULTI},
    [ISO_2022_JP] = {"iso-2022-jp", "ISO-2022-JP", "ISO-2022-JP", MULTI},
    [SHIFT_JIS] = {"shift_jis", "CP932", "SJIS", MULTI},
    [EUC_KR] = {"euc-kr", "CP949", "EUC-KR", MULTI},
    [UTF_16BE] = {"utf-16be", "UTF-16BE", "UTF-16BE", WIDE},
    [UTF_16LE] = {"utf-16le", "UTF-16LE", "UTF-16LE", WIDE},
    [X_USER_DEFINED] = {"x-user-defined", NULL, NULL, USER},
};
/* Sorted by the bytes of the label. */
static const struct label {
    const char *text;
    enum id id;
} labels[] = {
    {"866", IBM866}, {"ansi_x3.4-1968", WINDOWS_1252}, {"arabic", ISO_8859_6}, {"ascii", WINDOWS_1252},
    {"asmo-708", ISO_8859_6}, {"big5", BIG5}, {"big5-hkscs", BIG5}, {"chinese", GBK}, {"cn-big5", BIG5},
    {"cp1250", WINDOWS_1250}, {"cp1251", WINDOWS_1251}, {"cp1252", WINDOWS_1252}, {"cp1253", WINDOWS_1253},
    {"cp1254", WINDOWS_1254}, {"cp1255", WINDOWS_1255}, {"cp1256", WINDOWS_1256}, {"cp1257", WINDOWS_1257},
    {"cp1258", WINDOWS_1258}, {"cp819", WINDOWS_1252}, {"cp866", IBM866}, {"csbig5", BIG5}, {"cseuckr", EUC_KR},
    {"cseucpkdfmtjapanese", EUC_JP}, {"csgb2312", GBK}, {"csibm866", IBM866}, {"csiso2022jp", ISO_2022_JP},
    {"csiso2022kr", REPLACEMENT}, {"csiso58gb231280", GBK}, {"csiso88596e", ISO_8859_6},
    {"csiso88596i", ISO_8859_6}, {"csiso88598e", ISO_8859_8}, {"csiso88598i", ISO_8859_8_I},
    {"csisolatin1", WINDOWS_1252}, {"csisolatin2", ISO_8859_2}, {"csisolatin3", ISO_8859_3},
    {"csisolatin4", ISO_8859_4}, {"csisolatin5", WINDOWS_1254}, {"csisolatin6", ISO_8859_10},
    {"csisolatin9", ISO_8859_15}, {"csisolatinarabic", ISO_8859_6}, {"csisolatincyrillic", ISO_8859_5},
    {"csisolatingreek", ISO_8859_7}, {"csisolatinhebrew", ISO_8859_8}, {"cskoi8r", KOI8_R},
    {"csksc56011987", EUC_KR}, {"csmacintosh", MACINTOSH}, {"csshiftjis", SHIFT_JIS}, {"csunicode", UTF_16LE},
    {"cyrillic", ISO_8859_5}, {"dos-874", WINDOWS_874}, {"ecma-114", ISO_8859_6}, {"ecma-118", ISO_8859_7},
    {"elot_928", ISO_8859_7}, {"euc-jp", EUC_JP}, {"euc-kr", EUC_KR}, {"gb18030", GB18030}, {"gb2312", GBK},
    {"gb_2312", GBK}, {"gb_2312-80", GBK}, {"gbk", GBK}, {"greek", ISO_8859_7}, {"greek8", ISO_8859_7},
    {"hebrew", ISO_8859_8}, {"hz-gb-2312", REPLACEMENT}, {"ibm819", WINDOWS_1252}, {"ibm866", IBM866},
    {"iso-10646-ucs-2", UTF_16LE}, {"iso-2022-cn", REPLACEMENT}, {"iso-2022-cn-ext", REPLACEMENT},
    {"iso-2022-jp", ISO_2022_JP}, {"iso-2022-kr", REPLACEMENT}, {"iso-8859-1", WINDOWS_1252},
    {"iso-8859-10", ISO_8859_10}, {"iso-8859-11", WINDOWS_874}, {"iso-8859-13", ISO_8859_13},
    {"iso-8859-14", ISO_8859_14}, {"iso-8859-15", ISO_8859_15}, {"iso-8859-16", ISO_8859_16},
    {"iso-8859-2", ISO_8859_2}, {"iso-8859-3", ISO_8859_3}, {"iso-8859-4", ISO_8859_4}, {"iso-8859-5", ISO_8859_5},
    {"iso-8859-6", ISO_8859_6}, {"iso-8859-6-e", ISO_8859_6}, {"iso-8859-6-i", ISO_8859_6},
    {"iso-8859-7", ISO_8859_7}, {"iso-8859-8", ISO_8859_8}, {"iso-8859-8-e", ISO_8859_8},
    {"iso-8859-8-i", ISO_8859_8_I}, {"iso-8859-9", WINDOWS_1254}, {"iso-ir-100", WINDOWS_1252},
    {"iso-ir-101", ISO_8859_2}, {"iso-ir-109", ISO_8859_3}, {"iso-ir-110", ISO_8859_4}, {"iso-ir-126", ISO_8859_7},
    {"iso-ir-127", ISO_8859_6}, {"iso-ir-138", ISO_8859_8}, {"iso-ir-144", ISO_8859_5},
    {"iso-ir-148", WINDOWS_1254}, {"iso-ir-149", EUC_KR}, {"iso-ir-157", ISO_8859_10}, {"iso-ir-58", GBK},
    {"iso8859-1", WINDOWS_1252}, {"iso8859-10", ISO_8859_10}, {"iso8859-11", WINDOWS_874},
    {"iso8859-13", ISO_8859_13}, {"iso8859-14", ISO_8859_14}, {"iso8859-15", ISO_8859_15},
    {"iso8859-2", ISO_8859_2}, {"iso8859-3", ISO_8859_3}, {"iso8859-4", ISO_8859_4}, {"iso8859-5", ISO_8859_5},
    {"iso8859-6", ISO_8859_6}, {"iso8859-7", ISO_8859_7}, {"iso8859-8", ISO_8859_8}, {"iso8859-9", WINDOWS_1254},
    {"iso88591", WINDOWS_1252}, {"iso885910", ISO_8859_10}, {"iso885911", WINDOWS_874}, {"iso885913", ISO_8859_13},
    {"iso885914", ISO_8859_14}, {"iso885915", ISO_8859_15}, {"iso88592", ISO_8859_2}, {"iso88593", ISO_8859_3},
    {"iso88594", ISO_8859_4}, {"iso88595", ISO_8859_5}, {"iso88596", ISO_8859_6}, {"iso88597", ISO_8859_7},
    {"iso88598", ISO_8859_8}, {"iso88599", WINDOWS_1254}, {"iso_8859-1", WINDOWS_1252},
    {"iso_8859-15", ISO_8859_15}, {"iso_8859-1:1987", WINDOWS_1252}, {"iso_8859-2", ISO_8859_2},
    {"iso_8859-2:1987", ISO_8859_2}, {"iso_8859-3", ISO_8859_3}, {"iso_8859-3:1988", ISO_8859_3},
    {"iso_8859-4", ISO_8859_4}, {"iso_8859-4:1988", ISO_8859_4}, {"iso_8859-5", ISO_8859_5},
    {"iso_8859-5:1988", ISO_8859_5}, {"iso_8859-6", ISO_8859_6}, {"iso_8859-6:1987", ISO_8859_6},
    {"iso_8859-7", ISO_8859_7}, {"iso_8859-7:1987", ISO_8859_7}, {"iso_8859-8", ISO_8859_8},
    {"iso_8859-8:1988", ISO_8859_8}, {"iso_8859-9", WINDOWS_1254}, {"iso_8859-9:1989", WINDOWS_1254},
    {"koi", KOI8_R}, {"koi8", KOI8_R}, {"koi8-r", KOI8_R}, {"koi8-ru", KOI8_U}, {"koi8-u", KOI8_U},
    {"koi8_r", KOI8_R}, {"korean", EUC_KR}, {"ks_c_5601-1987", EUC_KR}, {"ks_c_5601-1989", EUC_KR},
    {"ksc5601", EUC_KR}, {"ksc_5601", EUC_KR}, {"l1", WINDOWS_1252}, {"l2", ISO_8859_2}, {"l3", ISO_8859_3},
    {"l4", ISO_8859_4}, {"l5", WINDOWS_1254}, {"l6", ISO_8859_10}, {"l9", ISO_8859_15}, {"latin1", WINDOWS_1252},
    {"latin2", ISO_8859_2}, {"latin3", ISO_8859_3}, {"latin4", ISO_8859_4}, {"latin5", WINDOWS_1254},
    {"latin6", ISO_8859_10}, {"logical", ISO_8859_8_I}, {"mac", MACINTOSH}, {"macintosh", MACINTOSH},
    {"ms932", SHIFT_JIS}, {"ms_kanji", SHIFT_JIS}, {"replacement", REPLACEMENT}, {"shift-jis", SHIFT_JIS},
    {"shift_jis", SHIFT_JIS}, {"sjis", SHIFT_JIS}, {"sun_eu_greek", ISO_8859_7}, {"tis-620", WINDOWS_874},
    {"ucs-2", UTF_16LE}, {"unicode", UTF_16LE}, {"unicode-1-1-utf-8", UTF_8}, {"unicode11utf8", UTF_8},
    {"unicode20utf8", UTF_8}, {"unicodefeff", UTF_16LE}, {"unicodefffe", UTF_16BE}, {"us-ascii", WINDOWS_1252},
    {"utf-16", UTF_16LE}, {"utf-16be", UTF_16BE}, {"utf-16le", UTF_16LE}, {"utf-8", UTF_8}, {"utf8", UTF_8},
    {"visual", ISO_8859_8}, {"windows-1250", WINDOWS_1250}, {"windows-1251", WINDOWS_1251},
    {"windows-1252", WINDOWS_1252}, {"windows-1253", WINDOWS_1253}, {"windows-1254", WINDOWS_1254},
    {"windows-1255", WINDOWS_1255}, {"windows-1256", WINDOWS_1256}, {"windows-1257", WINDOWS_1257},
    {"windows-1258", WINDOWS_1258}, {"windows-31j", SHIFT_JIS}, {"windows-874", WINDOWS_874},
    {"windows-949", EUC_KR}, {"x-cp1250", WINDOWS_1250}, {"x-cp1251", WINDOWS_1251}, {"x-cp1252", WINDOWS_1252},
    {"x-cp1253", WINDOWS_1253}, {"x-cp1254", WINDOWS_1254}, {"x-cp1255", WINDOWS_1255}, {"x-cp1256", WINDOWS_1256},
    {"x-cp1257", WINDOWS_1257}, {"x-cp1258", WINDOWS_1258}, {"x-euc-jp", EUC_JP}, {"x-gbk", GBK},
    {"x-mac-cyrillic", X_MAC_CYRILLIC}, {"x-mac-roman", MACINTOSH}, {"x-mac-ukrainian", X_MAC_CYRILLIC},
    {"x-sjis", SHIFT_JIS}, {"x-unicode20utf8", UTF_8}, {"x-user-defined", X_USER_DEFINED}, {"x-x-big5", BIG5},
};

/* clang-format on */

/* ---- labels ---- */

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}
static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
/* Negative, 0 or positive as strcmp, without case on the left. */
static int compare(const char *p, size_t len, const char *text) {
    for (size_t i = 0; i < len; i++) {
        int d = (unsigned char)lower(p[i]) - (unsigned char)text[i];
        if (d || !text[i]) /* p may hold a NUL where the text ends */
            return d ? d : 1;
    }
    return text[len] ? -1 : 0;
}
static bool begins(const char *p, const char *end, const char *text) {
    size_t len = strlen(text);
    return (size_t)(end - p) >= len && compare(p, len, text) == 0;
}
static const struct encoding *by_label(struct tl_span s) {
    while (s.len && is_space(*s.ptr)) {
        s.ptr++;
        s.len--;
    }
    while (s.len && is_space(s.ptr[s.len - 1]))
        s.len--;
    for (size_t low = 0, high = COUNT_OF(labels); low < high;) {
        size_t mid = (low + high) / 2;
        int d = compare(s.ptr, s.len, labels[mid].text);
        if (d == 0)
            return &encodings[labels[mid].id];
        if (d < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}
static const struct encoding *by_name(const char *name) {
    for (size_t i = 0; name && i < COUNT_OF(encodings); i++)
        if (strcmp(encodings[i].name, name) == 0)
            return &encodings[i];
    return NULL;
}
const char *charset_name(struct tl_span label) {
    const struct encoding *e = by_label(label);
    return e ? e->name : NULL;
}

/* ---- which one ---- */

static const struct encoding *from_bom(struct tl_span body) {
    if (body.len >= 3 && memcmp(body.ptr, "\xef\xbb\xbf", 3) == 0)
        return &encodings[UTF_8];
    if (body.len >= 2 && memcmp(body.ptr, "\xfe\xff", 2) == 0)
        return &encodings[UTF_16BE];
    if (body.len >= 2 && memcmp(body.ptr, "\xff\xfe", 2) == 0)
        return &encodings[UTF_16LE];
    return NULL;
}
/* The first parameter charset of a media type, with or without quotes. */
static const struct encoding *from_header(const char *type) {
    const char *p = type ? strchr(type, ';') : NULL;
    for (; p; p = strchr(p, ';')) {
        p += 1 + strspn(p + 1, " \t");
        const char *name = p;
        p += strcspn(p, "=;");
        size_t len = (size_t)(p - name);
        while (len && is_space(name[len - 1]))
            len--;
        if (*p != '=')
            continue;
        p += 1 + strspn(p + 1, " \t");
        char quote = *p == '"' || *p == '\'' ? *p++ : '\0';
        const char *value = p;
        while (*p && (quote ? *p != quote : *p != ';'))
            p++;
        if (compare(name, len, "charset") == 0)
            return by_label((struct tl_span){value, (size_t)(p - value)});
    }
    return NULL;
}
/* Whether a meta element may be looked for: in a text that is said to be no markup, it is an example. */
static bool may_be_markup(const char *type) {
    char kind[64];
    size_t len = type ? strcspn(type, ";, \t") : 0;
    if (!len || len >= sizeof kind)
        return true;
    for (size_t i = 0; i < len; i++)
        kind[i] = lower(type[i]);
    kind[len] = '\0';
    if (strstr(kind, "html") || strstr(kind, "xml"))
        return true;
    return strncmp(kind, "text/", 5) != 0 && !strstr(kind, "json") && !strstr(kind, "javascript");
}

/* The attribute at *at (HTML, "get an attribute"): 1, 0: the tag is over, -1: the bytes are. */
static int next_attribute(const char **at, const char *end, struct tl_span *name, struct tl_span *value) {
    const char *p = *at;
    while (p < end && (is_space(*p) || *p == '/'))
        p++;
    *at = p;
    if (p < end && *p == '>')
        return 0;
    while (p < end && !is_space(*p) && *p != '/' && *p != '>' && (*p != '=' || p == *at))
        p++;
    *name = (struct tl_span){*at, (size_t)(p - *at)};
    *value = (struct tl_span){p, 0};
    while (p < end && is_space(*p))
        p++;
    if (p == end)
        return -1;
    *at = p;
    if (*p != '=')
        return 1;
    for (p++; p < end && is_space(*p);)
        p++;
    if (p < end && (*p == '"' || *p == '\'')) {
        const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
        if (!close)
            return -1;
        *value = (struct tl_span){p + 1, (size_t)(close - p - 1)};
        *at = close + 1;
        return 1;
    }
    const char *from = p;
    while (p < end && !is_space(*p) && *p != '>')
        p++;
    *value = (struct tl_span){from, (size_t)(p - from)};
    *at = p;
    return p < end ? 1 : -1;
}
/* "text/html; charset=x" (HTML, "extracting a character encoding from a meta element"). */
static const struct encoding *from_content(struct tl_span content) {
    const char *p = content.ptr, *end = p + content.len;
    for (; p < end; p++) {
        if (!begins(p, end, "charset"))
            continue;
        const char *q = p + 7;
        while (q < end && is_space(*q))
            q++;
        if (q == end || *q != '=')
            continue;
        for (q++; q < end && is_space(*q);)
            q++;
        const char *from = q;
        if (q < end && (*q == '"' || *q == '\'')) {
            const char *close = memchr(q + 1, *q, (size_t)(end - q - 1));
            return close ? by_label((struct tl_span){q + 1, (size_t)(close - q - 1)}) : NULL;
        }
        while (q < end && !is_space(*q) && *q != ';')
            q++;
        return by_label((struct tl_span){from, (size_t)(q - from)});
    }
    return NULL;
}
/* The attributes of a meta. 1: *found; 0: it says nothing; -1: the bytes are over. */
static int from_meta(const char **at, const char *end, const struct encoding **found) {
    struct tl_span name, value;
    const struct encoding *e = NULL;
    bool pragma = false, needs_pragma = false, known = false, seen[3] = {false};
    int rc;
    while ((rc = next_attribute(at, end, &name, &value)) > 0) {
        static const char *const names[] = {"http-equiv", "content", "charset"};
        size_t which = 0;
        while (which < COUNT_OF(names) && compare(name.ptr, name.len, names[which]) != 0)
            which++;
        if (which == COUNT_OF(names) || seen[which])
            continue;
        seen[which] = true;
        const struct encoding *here;
        if (which == 0) {
            pragma = compare(value.ptr, value.len, "content-type") == 0;
        } else if (which == 2) {
            e = by_label(value);
            known = true;
            needs_pragma = false;
        } else if (!known && (here = from_content(value))) {
            e = here;
            known = needs_pragma = true;
        }
    }
    *found = e;
    return rc < 0 ? -1 : e && (pragma || !needs_pragma);
}
/* An XML declaration; where the standard comes to when its look at the markup finds nothing. */
static const struct encoding *from_xml(const char *p, const char *end) {
    if (!begins(p, end, "<?xml"))
        return NULL;
    end = memchr(p, '>', (size_t)(end - p));
    for (; end && p < end; p++)
        if (begins(p, end, "encoding")) {
            p += 8;
            while (p < end && (unsigned char)*p <= ' ')
                p++;
            if (p == end || *p++ != '=')
                return NULL;
            while (p < end && (unsigned char)*p <= ' ')
                p++;
            if (p == end || (*p != '"' && *p != '\''))
                return NULL;
            const char *close = memchr(p + 1, *p, (size_t)(end - p - 1));
            return close ? by_label((struct tl_span){p + 1, (size_t)(close - p - 1)}) : NULL;
        }
    return NULL;
}
/* HTML, "prescan a byte stream to determine its encoding", in the first 1024 bytes. */
static const struct encoding *from_markup(struct tl_span body) {
    const char *p = body.ptr, *end = p + (body.len < 1024 ? body.len : 1024);
    const struct encoding *found = NULL;
    if (body.len >= 6 && memcmp(p, "<\0?\0x", 6) == 0)
        return &encodings[UTF_16LE];
    if (body.len >= 6 && memcmp(p, "\0<\0?\0x", 6) == 0)
        return &encodings[UTF_16BE];
    for (; p < end; p++) {
        if (*p != '<' || end - p < 2)
            continue;
        bool meta = begins(p, end, "<meta") && end - p > 5 && (is_space(p[5]) || p[5] == '/');
        const char *name = p + 1 + (p[1] == '/');
        if (begins(p, end, "<!--")) {
            for (p += 4; p < end && !(p[0] == '>' && p[-1] == '-' && p[-2] == '-');)
                p++;
        } else if (meta) {
            p += 5;
            int rc = from_meta(&p, end, &found);
            if (rc > 0)
                return found->how == WIDE ? &encodings[UTF_8] : found->how == USER ? &encodings[WINDOWS_1252] : found;
            if (rc < 0)
                break;
        } else if (name < end && lower(*name) >= 'a' && lower(*name) <= 'z') {
            struct tl_span attribute, value;
            int rc;
            while (p < end && !is_space(*p) && *p != '>')
                p++;
            while ((rc = next_attribute(&p, end, &attribute, &value)) > 0)
                ;
            if (rc < 0)
                break;
        } else if (p[1] == '!' || p[1] == '/' || p[1] == '?') {
            while (p < end && *p != '>')
                p++;
        }
    }
    end = body.ptr + (body.len < 1024 ? body.len : 1024);
    found = from_xml(body.ptr, end);
    return found && found->how == WIDE ? &encodings[UTF_8] : found;
}
/* Valid UTF-8; its last character may be cut off if there is another one that is not ASCII. */
static bool looks_like_utf8(struct tl_span body) {
    size_t len = body.len, back = 0;
    const unsigned char *p = (const unsigned char *)body.ptr;
    if (utf8_valid(body.ptr, len))
        return true;
    while (back < 3 && back < len && (p[len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back == len || p[len - 1 - back] < 0xc2)
        return false;
    const char *at = body.ptr + len - 1 - back, *end = body.ptr + len;
    uint32_t cp;
    if (utf8_next(&at, end, &cp) != TL_INVALID || at != end)
        return false;
    len -= back + 1;
    bool ascii = true;
    for (size_t i = 0; i < len && ascii; i++)
        ascii = p[i] < 0x80;
    return !ascii && utf8_valid(body.ptr, len);
}
int charset_decide(struct tl_span body, const char *content_type, struct charset *out) {
    const struct encoding *e;
    if ((e = from_bom(body)))
        *out = (struct charset){e->name, "bom"};
    else if ((e = from_header(content_type)))
        *out = (struct charset){e->name, "header"};
    else if (may_be_markup(content_type) && (e = from_markup(body)))
        *out = (struct charset){e->name, "meta"};
    else if (looks_like_utf8(body))
        *out = (struct charset){encodings[UTF_8].name, "guess"};
    else
        *out = (struct charset){encodings[WINDOWS_1252].name, "default"};
    return TL_OK;
}

/* ---- decoding ---- */

/* U+0080 to U+009F of windows-1252; 0: nothing. */
static const uint16_t windows_1252[32] = {0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
                                          0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017d, 0,
                                          0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
                                          0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178};

/* The upper half of a single-byte encoding. Byte for byte, since the C library composes letters and accents of some. */
static bool read_table(const struct encoding *e, uint16_t high[128]) {
    if (e == &encodings[WINDOWS_1252]) {
        for (unsigned i = 0; i < 128; i++)
            high[i] = i < 32 ? windows_1252[i] : (uint16_t)(0x80 + i);
        return true;
    }
    iconv_t cd = iconv_open("UTF-16LE", e->decoder);
    if (cd == (iconv_t)-1)
        return false;
    for (unsigned i = 0; i < 128; i++) {
        char in = (char)(0x80 + i), out[16], *from = &in, *to = out;
        size_t in_left = 1, out_left = sizeof out;
        iconv(cd, NULL, NULL, NULL, NULL);
        bool ok = iconv(cd, &from, &in_left, &to, &out_left) != (size_t)-1 &&
                  iconv(cd, NULL, NULL, &to, &out_left) != (size_t)-1;
        high[i] = ok && to - out == 2 ? (uint16_t)((unsigned char)out[0] | (unsigned char)out[1] << 8) : 0;
    }
    iconv_close(cd);
    if (e == &encodings[MACINTOSH]) { /* where the C library is not of the standard's opinion */
        high[0xc6 - 0x80] = 0x2206;
        high[0xf0 - 0x80] = 0xf8ff;
    } else if (e == &encodings[X_MAC_CYRILLIC]) {
        high[0xff - 0x80] = 0x20ac;
    }
    return true;
}
/* The table of the last encoding used stays: pages of a site come in one. */
static const uint16_t *table_of(const struct encoding *e) {
    static _Thread_local const struct encoding *last;
    static _Thread_local uint16_t high[128];
    if (last != e) {
        last = NULL;
        if (e->how == USER)
            for (unsigned i = 0; i < 128; i++)
                high[i] = (uint16_t)(0xf780 + i);
        else if (!read_table(e, high))
            return NULL;
        last = e;
    }
    return high;
}
static int decode_single(const uint16_t *high, struct tl_span body, struct buf *out, bool *lossy) {
    enum { CHUNK = 4096 };
    const char *p = body.ptr, *end = p + body.len;
    while (p < end) {
        size_t n = end - p < CHUNK ? (size_t)(end - p) : CHUNK;
        if (!buf_reserve(out, 3 * n))
            return TL_PARTIAL;
        char *o = out->data + out->len;
        for (const char *stop = p + n; p < stop; p++) {
            unsigned char c = (unsigned char)*p;
            if (c < 0x80) {
                *o++ = (char)c;
                continue;
            }
            unsigned cp = high[c - 0x80];
            *lossy |= !cp;
            o += utf8_put(o, cp ? cp : UTF8_REPLACEMENT);
        }
        *o = '\0';
        out->len = (size_t)(o - out->data);
    }
    return TL_OK;
}
static int decode_utf8(struct tl_span body, struct buf *out, bool *lossy) {
    const char *p = body.ptr, *end = p + body.len, *from = p;
    if (utf8_valid(p, body.len))
        p = end;
    while (p < end) {
        size_t n = utf8_sequence(p, end);
        if (n) {
            p += n;
            continue;
        }
        uint32_t cp;
        buf_add(out, from, (size_t)(p - from));
        utf8_next(&p, end, &cp);
        buf_lit(out, UTF8_REPLACEMENT_TEXT);
        from = p;
        *lossy = true;
    }
    buf_add(out, from, (size_t)(end - from));
    return out->full ? TL_PARTIAL : TL_OK;
}
/* One thing that the decoder refused at p: how many bytes it takes (Encoding, 4.1 and the decoders: a lead byte takes
 * its trail byte along unless that is ASCII). */
static size_t refused(const struct encoding *e, const unsigned char *p, size_t left) {
    if (left < 2)
        return left;
    if (e->how == WIDE)
        return 2;
    return e != &encodings[ISO_2022_JP] && p[0] > 0x80 && p[0] < 0xff && p[1] >= 0x80 ? 2 : 1;
}
static int decode_multi(const struct encoding *e, struct tl_span body, struct buf *out, bool *lossy) {
    iconv_t cd = iconv_open("UTF-8", e->decoder);
    if (cd == (iconv_t)-1)
        return TL_FAILED;
    char *p = (char *)(uintptr_t)body.ptr; /* iconv only reads it */
    size_t left = body.len, more = 4096;
    bool flushed = false;
    int rc = TL_OK;
    while (!flushed) {
        if (!buf_reserve(out, more)) {
            rc = TL_PARTIAL;
            break;
        }
        char *o = out->data + out->len;
        size_t room = out->room - out->len - 1, limit = out->max ? out->max : BUF_MAX;
        if (room > limit - out->len) /* the buffer's memory may be larger than its maximum */
            room = limit - out->len;
        flushed = left == 0;
        size_t done = flushed ? iconv(cd, NULL, NULL, &o, &room) : iconv(cd, &p, &left, &o, &room);
        int why = errno;
        *o = '\0';
        out->len = (size_t)(o - out->data);
        if (done != (size_t)-1)
            continue;
        if (why == E2BIG) {
            flushed = false;
            continue;
        }
        if (flushed)
            break;
        bool euro = *(unsigned char *)p == 0x80 && (e == &encodings[GBK] || e == &encodings[GB18030]);
        size_t n = why == EINVAL ? left : refused(e, (unsigned char *)p, left);
        buf_text(out, euro ? "\xe2\x82\xac" : UTF8_REPLACEMENT_TEXT);
        *lossy |= !euro;
        p += euro ? 1 : n;
        left -= euro ? 1 : n;
    }
    iconv_close(cd);
    return rc;
}
int charset_to_utf8(const char *name, struct tl_span body, struct buf *out, bool *lossy) {
    const struct encoding *e = by_name(name);
    *lossy = false;
    if (!e)
        return TL_INVALID;
    if (from_bom(body) == e) {
        size_t mark = e->how == UTF8 ? 3 : 2;
        body = (struct tl_span){body.ptr + mark, body.len - mark};
    }
    int rc = TL_OK;
    const uint16_t *high;
    buf_reserve(out, 0);
    switch (e->how) {
    case UTF8:
        rc = decode_utf8(body, out, lossy);
        break;
    case SINGLE:
    case USER:
        high = table_of(e);
        rc = high ? decode_single(high, body, out, lossy) : TL_FAILED;
        break;
    case MULTI:
    case WIDE:
        rc = decode_multi(e, body, out, lossy);
        break;
    case NONE: /* encodings that can smuggle markup past a filter: the standard shows nothing of them */
        if (body.len)
            buf_lit(out, UTF8_REPLACEMENT_TEXT);
        *lossy = body.len > 0;
        break;
    }
    *lossy |= rc == TL_PARTIAL;
    return rc;
}

/* ---- and back ---- */

static bool single_gives(const uint16_t *high, struct tl_span utf8, struct tl_span original) {
    const char *p = utf8.ptr, *end = p + utf8.len;
    for (size_t i = 0; i < original.len; i++) {
        unsigned char c = (unsigned char)original.ptr[i];
        char want[4] = {(char)c};
        if (c >= 0x80 && !high[c - 0x80])
            return false;
        size_t n = c < 0x80 ? 1 : utf8_put(want, high[c - 0x80]);
        if ((size_t)(end - p) < n || memcmp(p, want, n) != 0)
            return false;
        p += n;
    }
    return p == end;
}
/* Characters for which encoders of one name give different bytes, found by trying every code of the C library against
 * Python. */
static bool in_doubt(const struct encoding *e, struct tl_span utf8) {
    static const struct {
        enum id id;
        uint32_t from, to;
    } doubts[] = {
        {GBK, 0x20ac, 0x20ac},       {GB18030, 0x1e3f, 0x1e3f},   {GB18030, 0x9fb4, 0x9fbb},
        {GB18030, 0xfe10, 0xfe19},   {GB18030, 0x20087, 0x20089}, {GB18030, 0x200cc, 0x200cc},
        {GB18030, 0x215d7, 0x215d7}, {GB18030, 0x2298f, 0x2298f}, {GB18030, 0x241fe, 0x241fe},
        {BIG5, 0x2551, 0x256c},      {BIG5, 0x58bb, 0x58bb},      {BIG5, 0x5afa, 0x5afa},
        {BIG5, 0x6052, 0x6052},      {BIG5, 0x7881, 0x7881},      {BIG5, 0x7ca7, 0x7ca7},
        {BIG5, 0x88cf, 0x88cf},      {BIG5, 0x92b9, 0x92b9},      {SHIFT_JIS, 0xffe0, 0xffe2},
        {EUC_JP, 0xff5e, 0xff5e},
    };
    const char *p = utf8.ptr, *end = p + utf8.len;
    uint32_t cp;
    while (utf8_next(&p, end, &cp) == TL_OK) {
        if (cp < 0x80)
            continue;
        if (cp < 0xa0)
            return true;
        for (size_t i = 0; i < COUNT_OF(doubts); i++)
            if (e == &encodings[doubts[i].id] && cp >= doubts[i].from && cp <= doubts[i].to)
                return true;
    }
    return p < end;
}
static bool multi_gives(const struct encoding *e, struct tl_span utf8, struct tl_span original) {
    iconv_t cd = iconv_open(e->encoder, "UTF-8");
    if (cd == (iconv_t)-1)
        return false;
    char out[4096], *p = (char *)(uintptr_t)utf8.ptr; /* iconv only reads it */
    size_t left = utf8.len, at = 0;
    bool same = true, flushed = false;
    while (same && !flushed) {
        char *o = out;
        size_t room = sizeof out;
        flushed = left == 0;
        size_t done = flushed ? iconv(cd, NULL, NULL, &o, &room) : iconv(cd, &p, &left, &o, &room);
        size_t n = (size_t)(o - out);
        same = (done == 0 || (done == (size_t)-1 && errno == E2BIG)) && original.len - at >= n &&
               memcmp(original.ptr + at, out, n) == 0;
        flushed &= done == 0;
        at += n;
    }
    iconv_close(cd);
    return same && at == original.len;
}
bool charset_round_trips(const char *name, struct tl_span utf8, struct tl_span original) {
    const struct encoding *e = by_name(name);
    if (!e)
        return false;
    if (e->how == UTF8)
        return utf8.len == original.len && utf8_valid(utf8.ptr, utf8.len) &&
               (!utf8.len || memcmp(utf8.ptr, original.ptr, utf8.len) == 0);
    if (!e->encoder)
        return false;
    if (e->how != SINGLE)
        return !(e->how == MULTI && in_doubt(e, utf8)) && multi_gives(e, utf8, original);
    const uint16_t *high = table_of(e);
    return high && single_gives(high, utf8, original);
}
