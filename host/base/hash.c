/* hash.c - see hash.h. */
#include "base/hash.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

struct hash {
    EVP_MD_CTX *ctx, *spare;
};
static EVP_MD *sha256_md;

struct hash *hash_new(void) {
    if (!sha256_md && !(sha256_md = EVP_MD_fetch(NULL, "SHA256", NULL)))
        abort();
    struct hash *h = mem_alloc(sizeof *h);
    h->ctx = EVP_MD_CTX_new();
    h->spare = EVP_MD_CTX_new();
    if (!h->ctx || !h->spare)
        abort();
    hash_start(h);
    return h;
}

void hash_free(struct hash *h) {
    if (h) {
        EVP_MD_CTX_free(h->ctx);
        EVP_MD_CTX_free(h->spare);
        free(h);
    }
}

/* OpenSSL's digest calls can fail only for want of memory or of the algorithm, which hash_new has proved. */
static void must(int ok) {
    if (!ok)
        abort();
}

void hash_start(struct hash *h) {
    must(EVP_DigestInit_ex(h->ctx, sha256_md, NULL));
}

void hash_add(struct hash *h, const void *ptr, size_t len) {
    must(EVP_DigestUpdate(h->ctx, ptr, len));
}

struct sha256 hash_peek(struct hash *h, const void *tail, size_t len) {
    struct sha256 out;
    must(EVP_MD_CTX_copy_ex(h->spare, h->ctx));
    must(EVP_DigestUpdate(h->spare, tail, len));
    must(EVP_DigestFinal_ex(h->spare, out.byte, NULL));
    return out;
}

struct sha256 hash_end(struct hash *h) {
    struct sha256 out;
    must(EVP_DigestFinal_ex(h->ctx, out.byte, NULL));
    return out;
}

struct sha256 hash_sha256(const void *ptr, size_t len) {
    static struct hash *once;
    if (!once)
        once = hash_new();
    hash_start(once);
    hash_add(once, ptr, len);
    return hash_end(once);
}

struct sha256 hash_hmac(struct tl_span key, struct tl_span text) {
    enum { BLOCK = 64 };
    uint8_t pad[2][BLOCK] = {{0}};
    struct sha256 sum;
    if (key.len > BLOCK) {
        sum = hash_sha256(key.ptr, key.len);
        memcpy(pad[0], sum.byte, SHA256_BYTES);
    } else if (key.len) {
        memcpy(pad[0], key.ptr, key.len);
    }
    for (int i = 0; i < BLOCK; i++) {
        pad[1][i] = pad[0][i] ^ 0x5c;
        pad[0][i] ^= 0x36;
    }
    struct hash *h = hash_new();
    hash_add(h, pad[0], BLOCK);
    hash_add(h, text.ptr, text.len);
    sum = hash_end(h);
    hash_start(h);
    hash_add(h, pad[1], BLOCK);
    hash_add(h, sum.byte, SHA256_BYTES);
    sum = hash_end(h);
    hash_free(h);
    explicit_bzero(pad, sizeof pad);
    return sum;
}

int hash_file(int fd, struct sha256 *out, int64_t *bytes) {
    static char block[1 << 16];
    struct hash *h = hash_new();
    int64_t sum = 0;
    ssize_t n;
    while ((n = pread(fd, block, sizeof block, sum)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        hash_add(h, block, (size_t)n);
        sum += n;
    }
    *out = hash_end(h);
    hash_free(h);
    if (bytes)
        *bytes = sum;
    return n < 0 ? TL_FAILED : TL_OK;
}

char *hash_hex(const void *ptr, size_t len, char *out) {
    static const char hex[] = "0123456789abcdef";
    const uint8_t *in = ptr;
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = hex[in[i] >> 4];
        out[2 * i + 1] = hex[in[i] & 15];
    }
    out[2 * len] = '\0';
    return out;
}

static int nibble(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

int hash_unhex(struct tl_span text, uint8_t *out, size_t len) {
    if (text.len != 2 * len)
        return TL_INVALID;
    for (size_t i = 0; i < len; i++) {
        int high = nibble(text.ptr[2 * i]), low = nibble(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return TL_INVALID;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return TL_OK;
}

void hash_base64(struct buf *out, const void *ptr, size_t len) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *in = ptr;
    if (!buf_reserve(out, (len + 2) / 3 * 4))
        return;
    char *at = out->data + out->len;
    size_t i = 0;
    for (; i + 3 <= len; i += 3) {
        uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
        *at++ = letters[v >> 18];
        *at++ = letters[v >> 12 & 63];
        *at++ = letters[v >> 6 & 63];
        *at++ = letters[v & 63];
    }
    if (i < len) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0);
        *at++ = letters[v >> 18];
        *at++ = letters[v >> 12 & 63];
        *at++ = i + 1 < len ? letters[v >> 6 & 63] : '=';
        *at++ = '=';
    }
    *at = '\0';
    out->len = (size_t)(at - out->data);
}

static int sextet(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

int hash_unbase64(struct buf *out, struct tl_span text) {
    if (text.len % 4)
        return TL_INVALID;
    for (size_t i = 0; i < text.len; i += 4) {
        const char *in = text.ptr + i;
        bool last = i + 4 == text.len;
        int pad = last ? (in[3] == '=') + (in[3] == '=' && in[2] == '=') : 0;
        int a = sextet(in[0]), b = sextet(in[1]), c = pad > 1 ? 0 : sextet(in[2]), d = pad ? 0 : sextet(in[3]);
        if (a < 0 || b < 0 || c < 0 || d < 0 || (pad == 2 && (b & 15)) || (pad == 1 && (c & 3)))
            return TL_INVALID;
        uint32_t v = (uint32_t)a << 18 | (uint32_t)b << 12 | (uint32_t)c << 6 | (uint32_t)d;
        char bytes[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        buf_add(out, bytes, (size_t)(3 - pad));
    }
    return out->full ? TL_FAILED : TL_OK;
}

static inline uint64_t rotate(uint64_t x, int b) {
    return x << b | x >> (64 - b);
}

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline void sip_round(struct sip *s) {
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

/* SipHash (Aumasson, Bernstein) with one compression and three finalisation rounds. */
uint64_t hash_sip(const struct hash_key *key, const void *ptr, size_t len) {
    struct sip s = {key->k0 ^ 0x736f6d6570736575ULL, key->k1 ^ 0x646f72616e646f6dULL, key->k0 ^ 0x6c7967656e657261ULL,
                    key->k1 ^ 0x7465646279746573ULL};
    const char *in = ptr;
    size_t i = 0;
    uint64_t m;
    for (; i + 8 <= len; i += 8) {
        memcpy(&m, in + i, 8);
        s.v3 ^= m;
        sip_round(&s);
        s.v0 ^= m;
    }
    m = (uint64_t)len << 56;
    for (size_t k = 0; i + k < len; k++)
        m |= (uint64_t)(uint8_t)in[i + k] << (8 * k);
    s.v3 ^= m;
    sip_round(&s);
    s.v0 ^= m;
    s.v2 ^= 0xff;
    for (int k = 0; k < 3; k++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
