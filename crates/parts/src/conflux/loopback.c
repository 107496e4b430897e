/* A library to preload: whoever binds to all addresses binds to 127.0.0.1 instead.
 *
 * The Conflux node has no setting for the address it listens on, and a test must not open a port
 * to the network. Its source calls bind() through libc, so a library that comes first can change
 * the address. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef int (*bind_fn)(int, const struct sockaddr *, socklen_t);

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
