/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which hosts compute for this one; see hosts.h.
 */
#include "batching/remote/engine/hosts.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* A host, by the ordinal of its device. */
typedef struct remote_host {
    warprsa_address address; /* empty: removed */
    warprsa_device *device;  /* NULL: it is not open */
    void (*removed)(warprsa_device *device);
} remote_host;

static struct {
    pthread_mutex_t lock; /* of what follows; taken before a device's */
    remote_host host[WARPRSA_REMOTE_HOSTS_MAX];
    unsigned count; /* never less than before */
    unsigned reloads;
} hosts = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct host_list {
    warprsa_address host[WARPRSA_REMOTE_HOSTS_MAX];
    unsigned count;
} host_list;

static bool is_same(const warprsa_address *a, const warprsa_address *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->port, b->port) == 0;
}

static bool contains(const host_list *list, const warprsa_address *address)
{
    for (unsigned i = 0; i < list->count; i++)
        if (is_same(&list->host[i], address))
            return true;
    return false;
}

/* HOST:PORT, separated by blanks. */
static bool read_hosts(host_list *list, const char *text, char *why,
                       size_t why_size)
{
    list->count = 0;
    for (;;) {
        warprsa_address address = {0};
        size_t length;

        text += strspn(text, " \t");
        if (*text == '\0')
            return true;
        length = strcspn(text, " \t");
        if (list->count == WARPRSA_REMOTE_HOSTS_MAX ||
            !warprsa_address_parse(text, length, &address) ||
            contains(list, &address)) {
            snprintf(why, why_size,
                     "remote_hosts: %.*s: expected HOST:PORT, %d of them at "
                     "most, each once, separated by blanks",
                     length < 64 ? (int)length : 64, text,
                     WARPRSA_REMOTE_HOSTS_MAX);
            return false;
        }
        list->host[list->count++] = address;
        text += length;
    }
}

/* With the lock held: removes a host and tells its device, if that is open. */
static void remove_host(remote_host *host)
{
    if (host->device != NULL)
        host->removed(host->device);
    memset(host, 0, sizeof(*host));
}

/* With the lock held: adds a host at the first free place. There is one, since
 * there are as many places as a list may have hosts. */
static void add_host(const warprsa_address *address)
{
    unsigned i = 0;

    while (i < hosts.count && hosts.host[i].address.host[0] != '\0')
        i++;
    hosts.host[i].address = *address;
    if (i == hosts.count)
        hosts.count++;
}

unsigned warprsa_remote_hosts_reloads(void)
{
    unsigned reloads;

    pthread_mutex_lock(&hosts.lock);
    reloads = hosts.reloads;
    pthread_mutex_unlock(&hosts.lock);
    return reloads;
}

unsigned warprsa_remote_hosts_count(void)
{
    unsigned count;

    pthread_mutex_lock(&hosts.lock);
    count = hosts.count;
    pthread_mutex_unlock(&hosts.lock);
    return count;
}

bool warprsa_remote_hosts_get(unsigned ordinal, warprsa_address *address)
{
    pthread_mutex_lock(&hosts.lock);
    *address = hosts.host[ordinal].address;
    pthread_mutex_unlock(&hosts.lock);
    return address->host[0] != '\0';
}

bool warprsa_remote_hosts_join(unsigned ordinal, const warprsa_address *address,
                               warprsa_device *device,
                               void (*removed)(warprsa_device *device))
{
    remote_host *host = &hosts.host[ordinal];
    bool joined;

    pthread_mutex_lock(&hosts.lock);
    joined = is_same(&host->address, address);
    if (joined) {
        host->device = device;
        host->removed = removed;
    }
    pthread_mutex_unlock(&hosts.lock);
    return joined;
}

void warprsa_remote_hosts_leave(unsigned ordinal, const warprsa_device *device)
{
    remote_host *host = &hosts.host[ordinal];

    pthread_mutex_lock(&hosts.lock);
    if (host->device == device)
        host->device = NULL;
    pthread_mutex_unlock(&hosts.lock);
}

bool warprsa_remote_hosts_set(const char *text, char *why, size_t why_size)
{
    host_list wanted, there = {0};

    pthread_mutex_lock(&hosts.lock);
    hosts.reloads++;
    pthread_mutex_unlock(&hosts.lock);
    if (!read_hosts(&wanted, text, why, why_size))
        return false;
    pthread_mutex_lock(&hosts.lock);
    for (unsigned i = 0; i < hosts.count; i++) {
        remote_host *host = &hosts.host[i];

        if (contains(&wanted, &host->address))
            there.host[there.count++] = host->address;
        else if (host->address.host[0] != '\0')
            remove_host(host);
    }
    for (unsigned i = 0; i < wanted.count; i++)
        if (!contains(&there, &wanted.host[i]))
            add_host(&wanted.host[i]);
    pthread_mutex_unlock(&hosts.lock);
    return true;
}

bool warprsa_remote_hosts_check(const char *text, char *why, size_t why_size)
{
    host_list list;

    return read_hosts(&list, text, why, why_size);
}
