/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that a client has sent; see client_descriptor.h.
 */
#include "batching/daemon/client_descriptor.h"

#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

static void *close_it(void *arg)
{
    close((int)(intptr_t)arg);
    return NULL;
}

void warprsa_client_descriptor_dispose(int fd)
{
    pthread_t thread;

    if (warprsa_client_descriptor_is_socket(fd, 0))
        close(fd);
    else if (pthread_create(&thread, NULL, close_it, (void *)(intptr_t)fd) == 0)
        pthread_detach(thread);
    /* Else it stays open: better than a daemon that hangs. */
}

bool warprsa_client_descriptor_is_socket(int fd, int type)
{
    int found = -1;
    socklen_t length = sizeof(found);

    if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &found, &length) != 0 ||
        found != AF_UNIX)
        return false;
    length = sizeof(found);
    return type == 0 ||
           (getsockopt(fd, SOL_SOCKET, SO_TYPE, &found, &length) == 0 &&
            found == type);
}

struct ucred warprsa_client_descriptor_peer(int socket)
{
    struct ucred peer = {.pid = -1, .uid = (uid_t)-1, .gid = (gid_t)-1};
    socklen_t length = sizeof(peer);

    (void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return peer;
}
