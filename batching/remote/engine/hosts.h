/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which hosts compute for this one: a place each, whose number is the ordinal
 * of the engine's device, and who is told when one is removed.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_HOSTS_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_HOSTS_H

#include "batching/remote/wire/address.h"
#include "gpu/engine.h"

enum {
    WARPRSA_REMOTE_HOSTS_MAX = 8,
};

/*
 * The hosts from now on: HOST:PORT, separated by blanks, none to HOSTS_MAX. A
 * host that stays keeps its device. A device whose host is no longer there
 * takes no more batches, answers what is under way, and is closed; another host
 * takes its place, here or with a later call. False: `why` says which one is
 * wrong, and nothing is changed. One thread at a time.
 */
bool warprsa_remote_hosts_set(const char *text, char *why, size_t why_size);

/* Whether a list of hosts is one that set() takes. Any thread. */
bool warprsa_remote_hosts_check(const char *text, char *why, size_t why_size);

/* How often set() was called; hosts.c knows no certificates, but they are read
 * again at the same moments. Any thread. */
unsigned warprsa_remote_hosts_reloads(void);

/* How many places have or had a host. Any thread. */
unsigned warprsa_remote_hosts_count(void);

/* The host of an ordinal below HOSTS_MAX. False: there is none, or it was
 * removed. Any thread. */
bool warprsa_remote_hosts_get(unsigned ordinal, warprsa_address *address);

/*
 * An opened device is that of the host with this address, from now on until
 * leave(). removed() is called once if the host is removed meanwhile, under the
 * list's lock: it may take the device's, and calls nothing here. False: the
 * host has been removed already. Any thread.
 */
bool warprsa_remote_hosts_join(unsigned ordinal, const warprsa_address *address,
                               warprsa_device *device,
                               void (*removed)(warprsa_device *device));

/* For a device that may have joined, before it is freed. */
void warprsa_remote_hosts_leave(unsigned ordinal, const warprsa_device *device);

#endif
