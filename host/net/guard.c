/* guard.c - see guard.h. */
#include "net/guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct range4 {
    uint32_t net;
    int bits;
};

static bool in4(uint32_t ip, uint32_t net, int bits) {
    return bits == 0 || (ip ^ net) >> (32 - bits) == 0;
}

static enum guard_class classify4(uint32_t ip) {
    static const struct range4 special[] = {{0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},
                                            {0xa9fe0000, 16}, {0xac100000, 12}, {0xc0000000, 24}, {0xc0000200, 24},
                                            {0xc0586300, 24}, {0xc0a80000, 16}, {0xc6120000, 15}, {0xc6336400, 24},
                                            {0xcb007100, 24}, {0xe0000000, 4},  {0xf0000000, 4}};
    static const struct range4 metadata[] = {
        {0xa9fea900, 24}, /* 169.254.169.254 of nearly all clouds, and its neighbours */
        {0xa9feaa00, 24}, /* 169.254.170.2 and .23: containers at Amazon */
        {0xa9fe0017, 32}, /* 169.254.0.23: Tencent */
        {0xa9fe2a2a, 32}, /* 169.254.42.42: Scaleway */
        {0x646464c8, 32}, /* 100.100.100.200: Alibaba */
        {0xa83f8110, 32}, /* 168.63.129.16: Azure, not private by its looks */
        {0xc00000c0, 32}, /* 192.0.0.192: Oracle */
    };
    for (size_t i = 0; i < COUNT_OF(metadata); i++)
        if (in4(ip, metadata[i].net, metadata[i].bits))
            return GUARD_METADATA;
    for (size_t i = 0; i < COUNT_OF(special); i++)
        if (in4(ip, special[i].net, special[i].bits))
            return GUARD_PRIVATE;
    return GUARD_PUBLIC;
}

static bool starts(const uint8_t *ip, const char *prefix, size_t len) {
    return memcmp(ip, prefix, len) == 0;
}

static uint32_t tail4(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static enum guard_class classify6(const uint8_t ip[16]) {
    static const uint8_t zero[16];
    if (starts(ip, "\xfd\x00\x0e\xc2", 4) || starts(ip, "\xfd\x20\x00\xce", 4) || starts(ip, "\xfd\x00\x00\x42", 4))
        return GUARD_METADATA; /* fd00:ec2::254 and ::23 of Amazon, fd20:ce::254 of Google, fd00:42::42 of Scaleway */
    if (memcmp(ip, zero, 10) == 0 && ((ip[10] == 0xff && ip[11] == 0xff) || (ip[10] == 0 && ip[11] == 0))) {
        if (memcmp(ip, zero, 15) == 0 && ip[15] <= 1)
            return GUARD_PRIVATE;                           /* :: and ::1 */
        enum guard_class inner = classify4(tail4(ip + 12)); /* mapped and compatible */
        return inner == GUARD_PUBLIC && ip[10] == 0 ? GUARD_PRIVATE : inner;
    }
    if (starts(ip, "\x00\x64\xff\x9b", 4)) /* NAT64 */
        return memcmp(ip + 4, zero, 8) == 0 ? classify4(tail4(ip + 12)) : GUARD_PRIVATE;
    if (starts(ip, "\x20\x02", 2)) /* 6to4 carries an IPv4 address */
        return classify4(tail4(ip + 2));
    if ((ip[8] & 0xfd) == 0 && starts(ip + 9, "\x00\x5e\xfe", 3) && classify4(tail4(ip + 12)) != GUARD_PUBLIC)
        return classify4(tail4(ip + 12)); /* ISATAP carries one, too */
    if (starts(ip, "\x3f\xff", 2) && ip[2] < 0x10)
        return GUARD_PRIVATE; /* documentation */
    if (starts(ip, "\x20\x01\x0d\xb8", 4) || (starts(ip, "\x20\x01", 2) && ip[2] < 2) || starts(ip, "\x01\x00", 2))
        return GUARD_PRIVATE; /* documentation, Teredo and its kin, discard */
    if ((ip[0] & 0xfe) == 0xfc || (ip[0] == 0xfe && (ip[1] & 0x80)) || ip[0] == 0xff)
        return GUARD_PRIVATE; /* unique local, link and site local, multicast */
    return (ip[0] & 0xe0) == 0x20 ? GUARD_PUBLIC : GUARD_PRIVATE;
}

enum guard_class guard_classify(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return classify4(ntohl(in.sin_addr.s_addr));
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        return classify6(in6.sin6_addr.s6_addr);
    }
    return GUARD_PRIVATE;
}

static bool is_localhost(struct tl_span host) {
    static const char name[] = "localhost";
    size_t n = sizeof name - 1;
    if (host.len && host.ptr[host.len - 1] == '.')
        host.len--;
    return host.len >= n && memcmp(host.ptr + host.len - n, name, n) == 0 &&
           (host.len == n || host.ptr[host.len - n - 1] == '.');
}

enum guard_class guard_literal(struct tl_span host) {
    char text[INET6_ADDRSTRLEN];
    struct in_addr in;
    struct in6_addr in6;
    bool six = host.len > 2 && host.ptr[0] == '[';
    if (!six && (host.len == 0 || host.ptr[0] < '0' || host.ptr[0] > '9'))
        return is_localhost(host) ? GUARD_PRIVATE : GUARD_PUBLIC;
    struct tl_span bare = six ? (struct tl_span){host.ptr + 1, host.len - 2} : host;
    if (bare.len >= sizeof text)
        return six ? GUARD_PRIVATE : GUARD_PUBLIC;
    memcpy(text, bare.ptr, bare.len);
    text[bare.len] = '\0';
    if (six)
        return inet_pton(AF_INET6, text, &in6) == 1 ? classify6(in6.s6_addr) : GUARD_PRIVATE;
    return inet_pton(AF_INET, text, &in) == 1 ? classify4(ntohl(in.s_addr)) : GUARD_PUBLIC;
}
