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
    static const struct range4 special[] = {
        {0x00000000, 8},  {0x0a000000, 8},  {0x64400000, 10}, {0x7f000000, 8},  {0xa9fe0000, 16}, {0xac100000, 12},
        {0xc0000000, 24}, {0xc0000200, 24}, {0xc0586300, 24}, {0xc0a80000, 16}, {0xc6120000, 15}, {0xc6336400, 24},
        {0xcb007100, 24}, {0xe0000000, 4},  {0xf0000000, 4}};
    if (ip == 0xa9fea9fe || ip == 0xa9feaa02 || ip == 0x646464c8) /* 169.254.169.254, ECS 169.254.170.2, 100.100.100.200 */
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
    if (starts(ip, "\xfd\x00\x0e\xc2", 4) && memcmp(ip + 4, zero, 10) == 0 && ip[14] == 0x02 && ip[15] == 0x54)
        return GUARD_METADATA; /* fd00:ec2::254 */
    if (memcmp(ip, zero, 10) == 0 && ((ip[10] == 0xff && ip[11] == 0xff) || (ip[10] == 0 && ip[11] == 0))) {
        if (memcmp(ip, zero, 15) == 0 && ip[15] <= 1)
            return GUARD_PRIVATE; /* :: and ::1 */
        enum guard_class inner = classify4(tail4(ip + 12)); /* mapped and compatible */
        return inner == GUARD_PUBLIC && ip[10] == 0 ? GUARD_PRIVATE : inner;
    }
    if (starts(ip, "\x00\x64\xff\x9b", 4)) /* NAT64 */
        return memcmp(ip + 4, zero, 8) == 0 ? classify4(tail4(ip + 12)) : GUARD_PRIVATE;
    if (starts(ip, "\x20\x02", 2)) /* 6to4 carries an IPv4 address */
        return classify4(tail4(ip + 2));
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
