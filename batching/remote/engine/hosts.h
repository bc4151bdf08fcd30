/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The hosts that compute for this one. Each has a place, whose number is the
 * ordinal of the engine's device. A device is told when its host is removed.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_HOSTS_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_HOSTS_H

#include "batching/remote/wire/address.h"
#include "gpu/engine.h"

enum {
    WARPRSA_REMOTE_HOSTS_MAX = 8,
};

/*
 * Sets the hosts: up to HOSTS_MAX of HOST:PORT, separated by blanks. A host
 * that stays keeps its device. The device of a removed host takes no more
 * batches, answers what is under way, and is closed; this call or a later one
 * gives its place to another host. False: `why` says which host is wrong, and
 * nothing is changed. One thread at a time.
 */
bool warprsa_remote_hosts_set(const char *text, char *why, size_t why_size);

/* Whether set() would take a list of hosts. Any thread. */
bool warprsa_remote_hosts_check(const char *text, char *why, size_t why_size);

/* How often set() was called. Certificates are read again at these moments,
 * though not by hosts.c. Any thread. */
unsigned warprsa_remote_hosts_reloads(void);

/* How many places have or had a host. Any thread. */
unsigned warprsa_remote_hosts_count(void);

/* The host of an ordinal below HOSTS_MAX. False: there is none, or it was
 * removed. Any thread. */
bool warprsa_remote_hosts_get(unsigned ordinal, warprsa_address *address);

/*
 * Binds an opened device to the host with this address until leave(). If the
 * host is removed meanwhile, removed() is called once, under the list's lock:
 * it may take the device's lock, and calls no function of this file. False: the
 * host has already been removed. Any thread.
 */
bool warprsa_remote_hosts_join(unsigned ordinal, const warprsa_address *address,
                               warprsa_device *device,
                               void (*removed)(warprsa_device *device));

/* Releases a device that may have joined, before it is freed. */
void warprsa_remote_hosts_leave(unsigned ordinal, const warprsa_device *device);

#endif
