/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Watched descriptors; see event_source.h.
 */
#include "batching/daemon/process/event_source.h"

#include <unistd.h>

bool warprsa_event_source_watch(int epoll, int fd, uint32_t events,
                                warprsa_event_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void warprsa_event_source_close(int epoll, int *fd)
{
    if (*fd < 0)
        return;
    if (epoll >= 0)
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, *fd, NULL);
    close(*fd);
    *fd = -1;
}

void warprsa_event_source_dispatch(const struct epoll_event *events, int count)
{
    for (int i = 0; i < count; i++) {
        warprsa_event_source *source = events[i].data.ptr;

        source->ready(source);
    }
}
