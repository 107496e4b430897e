/* A library to preload: whoever binds to all addresses binds to the loopback address instead, and
 * nothing is sent to groups of machines.
 *
 * The Conflux node has no setting for the address it listens on, and a test must not open a port
 * to the network. It also asks the network for a router that would forward its port (UPnP), and
 * waits 5 s for the answer; refused, it goes on at once. It calls libc for both, so a library
 * that comes first can decide. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*bind_fn)(int, const struct sockaddr *, socklen_t);
typedef ssize_t (*sendto_fn)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

int bind(int socket, const struct sockaddr *address, socklen_t length) {
    bind_fn real = (bind_fn)dlsym(RTLD_NEXT, "bind");
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (address != NULL && address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        /* A copy: the caller's memory is not ours to change. */
        struct sockaddr_in changed;
        memcpy(&changed, address, sizeof changed);
        if (changed.sin_addr.s_addr == htonl(INADDR_ANY)) {
            changed.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        return real(socket, (const struct sockaddr *)&changed, sizeof changed);
    }
    if (address != NULL && address->sa_family == AF_INET6 &&
        length >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 changed;
        memcpy(&changed, address, sizeof changed);
        if (IN6_IS_ADDR_UNSPECIFIED(&changed.sin6_addr)) {
            changed.sin6_addr = in6addr_loopback;
        }
        return real(socket, (const struct sockaddr *)&changed, sizeof changed);
    }
    return real(socket, address, length);
}

ssize_t sendto(int socket, const void *data, size_t size, int flags,
               const struct sockaddr *address, socklen_t length) {
    sendto_fn real = (sendto_fn)dlsym(RTLD_NEXT, "sendto");
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (address != NULL && address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in to;
        memcpy(&to, address, sizeof to);
        if (IN_MULTICAST(ntohl(to.sin_addr.s_addr))) {
            errno = ENETUNREACH;
            return -1;
        }
    }
    return real(socket, data, size, flags, address, length);
}
