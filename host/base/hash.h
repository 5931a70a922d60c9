/* hash.h - SHA-256 for what is stored, SipHash for tables in memory, and the hex and base64 spellings.
 *
 * The SHA-256 implementation is fetched from OpenSSL once a process: fetching it for each digest costs more than a
 * short digest. */
#ifndef TROTLINE_BASE_HASH_H
#define TROTLINE_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trotline.h"

enum { SHA256_BYTES = 32, SHA256_HEX = 65 };
struct sha256 {
    uint8_t byte[SHA256_BYTES];
};
struct hash; /* a SHA-256 under way; one owner */
struct hash *hash_new(void);
void hash_free(struct hash *h);
void hash_start(struct hash *h);
void hash_add(struct hash *h, const void *ptr, size_t len);
struct sha256 hash_peek(struct hash *h, const void *tail,
                        size_t len); /* the digest if `tail` were added; h goes on unchanged */
struct sha256 hash_end(struct hash *h);
struct sha256 hash_sha256(const void *ptr, size_t len);           /* at once */
struct sha256 hash_hmac(struct tl_span key, struct tl_span text); /* HMAC-SHA256, RFC 2104 */
int hash_file(int fd, struct sha256 *out, int64_t *bytes); /* from the start to the end of file; TL_FAILED with errno */

char *hash_hex(const void *ptr, size_t len, char *out);         /* 2 * len + 1 characters; returns out */
int hash_unhex(struct tl_span text, uint8_t *out, size_t len);  /* TL_INVALID when not exactly 2 * len hex digits */
void hash_base64(struct buf *out, const void *ptr, size_t len); /* RFC 4648, padded, no line breaks */
int hash_unbase64(struct buf *out, struct tl_span text);        /* strict; TL_INVALID */

struct hash_key {
    uint64_t k0, k1;
};
uint64_t hash_sip(const struct hash_key *key, const void *ptr,
                  size_t len); /* SipHash-1-3: fast, keyed, not for storage */
#endif
