/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A descriptor that an epoll instance watches, and the function that is called
 * when it is ready. Knows of no client: what a descriptor brings is judged by
 * the function.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_EVENT_SOURCE_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_EVENT_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/* Part of the structure that owns the descriptor. `ready` finds the structure
 * by the source's address in it. */
typedef struct warprsa_event_source {
    void (*ready)(struct warprsa_event_source *source);
} warprsa_event_source;

/* Adds a descriptor with these events (EPOLLIN...) to an epoll instance; the
 * source stays where it is while watched. False: see errno. */
bool warprsa_event_source_watch(int epoll, int fd, uint32_t events,
                                warprsa_event_source *source);

/*
 * Closes *fd and sets it to -1; does nothing if it is -1. Takes the descriptor
 * out of the epoll instance first (-1: none). Closing alone would not if a
 * client has a descriptor of the same file, and events would still come for a
 * freed source.
 */
void warprsa_event_source_close(int epoll, int *fd);

/* Calls `ready` of each source that epoll_wait() found. */
void warprsa_event_source_dispatch(const struct epoll_event *events, int count);

#endif
