/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Connections without a certificate so far; see strangers.h.
 */
#include "batching/remote/server/strangers.h"

#include <netinet/in.h>
#include <string.h>

void warprsa_strangers_init(warprsa_strangers *strangers)
{
    TAILQ_INIT(&strangers->list);
    strangers->count = 0;
}

/* Sets the part of an address that tells customers apart. An IPv4 address on an
 * IPv6 socket (::ffff:a.b.c.d) counts as IPv4. */
static void set_address(warprsa_stranger *stranger, const struct sockaddr *from)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
    uint8_t *to = stranger->address;

    memset(to, 0, sizeof(stranger->address));
    if (from->sa_family == AF_INET)
        memcpy(to, &v4->sin_addr, sizeof(v4->sin_addr));
    else if (from->sa_family == AF_INET6 &&
             IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
        memcpy(to, v6->sin6_addr.s6_addr + 12, 4);
    else if (from->sa_family == AF_INET6)
        memcpy(to, v6->sin6_addr.s6_addr, sizeof(stranger->address));
}

static bool is_same(const warprsa_stranger *a, const warprsa_stranger *b)
{
    return memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static unsigned count_like(const warprsa_strangers *strangers,
                           const warprsa_stranger *like)
{
    const warprsa_stranger *one;
    unsigned count = 0;

    TAILQ_FOREACH (one, &strangers->list, link)
        count += is_same(one, like);
    return count;
}

/* A stranger of the address that has most. */
static const warprsa_stranger *most_frequent(const warprsa_strangers *strangers)
{
    const warprsa_stranger *one, *most = NULL;
    unsigned count = 0;

    TAILQ_FOREACH (one, &strangers->list, link) {
        const unsigned of_it = count_like(strangers, one);

        if (of_it > count) {
            count = of_it;
            most = one;
        }
        /* This address has at least half of all: no other can have more. */
        if (2 * count >= strangers->count)
            break;
    }
    return most;
}

/* The stranger of this address that goes. There is one. */
static warprsa_stranger *first_to_go(warprsa_strangers *strangers,
                                     const warprsa_stranger *like)
{
    warprsa_stranger *one, *oldest = NULL;

    TAILQ_FOREACH (one, &strangers->list, link) {
        if (!is_same(one, like))
            continue;
        if (!one->has_spoken)
            return one;
        if (oldest == NULL)
            oldest = one;
    }
    return oldest;
}

warprsa_stranger *warprsa_strangers_add(warprsa_strangers *strangers,
                                        warprsa_stranger *stranger,
                                        const struct sockaddr *from)
{
    const warprsa_stranger *like = NULL;
    warprsa_stranger *goes = NULL;

    set_address(stranger, from);
    if (count_like(strangers, stranger) >= WARPRSA_STRANGERS_OF_ADDRESS)
        like = stranger;
    else if (strangers->count >= WARPRSA_STRANGERS_MAX)
        like = most_frequent(strangers);
    if (like != NULL) {
        goes = first_to_go(strangers, like);
        warprsa_strangers_remove(strangers, goes);
    }
    TAILQ_INSERT_TAIL(&strangers->list, stranger, link);
    strangers->count++;
    stranger->listed = true;
    return goes;
}

void warprsa_strangers_remove(warprsa_strangers *strangers,
                              warprsa_stranger *stranger)
{
    if (!stranger->listed)
        return;
    stranger->listed = false;
    strangers->count--;
    TAILQ_REMOVE(&strangers->list, stranger, link);
}
