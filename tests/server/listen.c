/* listen.c - the listening sockets.
 *
 * Invariant: loopback addresses only, whatever is asked for; all of them on one port, or none. */
#include "fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int listen_at(const char *address, unsigned port, int *out, unsigned *bound) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } at = {0};
    socklen_t len = sizeof at.four;
    int on = 1;
    if (inet_pton(AF_INET, address, &at.four.sin_addr) == 1 && ntohl(at.four.sin_addr.s_addr) >> 24 == 127) {
        at.four.sin_family = AF_INET;
        at.four.sin_port = htons((uint16_t)port);
    } else if (strcmp(address, "::1") == 0) {
        at.six = (struct sockaddr_in6){
            .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_loopback};
        len = sizeof at.six;
    } else {
        errno = EADDRNOTAVAIL;
        return TL_INVALID;
    }
    int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return TL_FAILED;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &at.any, len) < 0 || listen(fd, 4096) < 0 || getsockname(fd, &at.any, &len) < 0) {
        int error = errno;
        close(fd);
        errno = error;
        return TL_FAILED;
    }
    *bound = ntohs(at.any.sa_family == AF_INET ? at.four.sin_port : at.six.sin6_port);
    *out = fd;
    return TL_OK;
}

int listen_all(const char *const *addresses, size_t count, unsigned port, int *fds, unsigned *bound) {
    int rc = TL_FAILED;
    /* a port that is free on the first address may be taken on another: then try a new one */
    for (int tries = 0; tries < (port ? 1 : 20) && rc < 0; tries++) {
        unsigned chosen = port;
        size_t open = 0;
        rc = TL_OK;
        while (rc == TL_OK && open < count) {
            rc = listen_at(addresses[open], chosen, &fds[open], &chosen);
            open += rc == TL_OK;
        }
        int error = errno;
        while (rc < 0 && open)
            close(fds[--open]);
        errno = error;
        *bound = chosen;
    }
    return rc;
}
