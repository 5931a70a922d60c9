/* tls.c - see tls.h. */
#include "net/tls.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/times.h"

enum { NAME_MAX_BYTES = 2000 };

static void free_text(void *parent, void *text, CRYPTO_EX_DATA *ad, int index, long argl, void *argp) {
    (void)parent, (void)ad, (void)index, (void)argl, (void)argp;
    free(text);
}

static int text_index(void) {
    static int index = -1;
    if (index < 0)
        index = SSL_get_ex_new_index(0, NULL, NULL, NULL, free_text);
    return index;
}

static void member_name(struct json_writer *w, const char *key, const X509_NAME *name) {
    BIO *out = BIO_new(BIO_s_mem());
    char *text = NULL;
    long len = 0;
    if (out && X509_NAME_print_ex(out, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB) >= 0)
        len = BIO_get_mem_data(out, &text);
    json_member_span(w, key,
                     (struct tl_span){len > 0 ? text : "", (size_t)(len < NAME_MAX_BYTES ? len : NAME_MAX_BYTES)});
    BIO_free(out);
}

static void member_expiry(struct json_writer *w, const ASN1_TIME *when) {
    struct tm t;
    char text[TIME_TEXT] = "";
    if (when && ASN1_TIME_to_tm(when, &t)) {
        struct civil c = {t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, 0};
        time_text(time_from_civil(&c), text);
    }
    json_member_string(w, "expires", text[0] ? text : NULL);
}

static void member_digest(struct json_writer *w, const X509 *x) {
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    if (X509_digest(x, EVP_sha256(), sum, &len))
        for (unsigned int i = 0; i < len; i++)
            snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    json_member_string(w, "sha256", hex[0] ? hex : NULL);
}

static char *describe(SSL *ssl, bool verified) {
    struct buf text = BUF_INIT;
    struct json_writer w = JSON_WRITER(&text);
    X509 *x = SSL_get1_peer_certificate(ssl);
    json_object_begin(&w);
    json_member_string(&w, "version", SSL_get_version(ssl));
    json_member_string(&w, "cipher", SSL_get_cipher_name(ssl));
    if (x) {
        member_name(&w, "subject", X509_get_subject_name(x));
        member_name(&w, "issuer", X509_get_issuer_name(x));
        member_expiry(&w, X509_get0_notAfter(x));
        member_digest(&w, x);
    }
    if (!verified)
        json_member_bool(&w, "verified", false);
    json_object_end(&w);
    X509_free(x);
    return buf_steal(&text);
}

void tls_describe(void *ssl, bool verified, struct buf *json) {
    int index = ssl ? text_index() : -1;
    if (index < 0)
        return;
    char *text = SSL_get_ex_data(ssl, index);
    if (!text) {
        text = describe(ssl, verified);
        if (!SSL_set_ex_data(ssl, index, text)) {
            buf_text(json, text);
            free(text);
            return;
        }
    }
    buf_text(json, text);
}
