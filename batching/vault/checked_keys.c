/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Key files that were checked; see checked_keys.h. A reader that is killed may
 * leave a half-written digest, which is then that of no file.
 */
#include "batching/vault/checked_keys.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PLACES = 1 << 17,
    KEYS_MAX = PLACES / 2, /* so that the next free place is near */
};

/* For the threads of one reader. It is not in the shared memory: a reader that
 * is killed would leave it locked. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Digests by their first bytes, each in the next free place. */
struct warprsa_checked_keys {
    uint32_t count;
    uint8_t digest[PLACES][WARPRSA_CHECKED_KEY_BYTES]; /* zeros: free */
};

warprsa_checked_keys *warprsa_checked_keys_map(void)
{
    void *keys =
        mmap(NULL, sizeof(warprsa_checked_keys), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return keys != MAP_FAILED ? keys : NULL;
}

void warprsa_checked_keys_unmap(warprsa_checked_keys *keys)
{
    if (keys != NULL)
        (void)munmap(keys, sizeof(*keys));
}

/* The place of a digest, or the free one for it. There is always a free one. */
static uint32_t place_of(const warprsa_checked_keys *keys,
                         const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES])
{
    static const uint8_t none[WARPRSA_CHECKED_KEY_BYTES];
    uint32_t place = 0;

    memcpy(&place, digest, sizeof(place));
    for (place %= PLACES;
         memcmp(keys->digest[place], digest, sizeof(none)) != 0 &&
         memcmp(keys->digest[place], none, sizeof(none)) != 0;
         place = (place + 1) % PLACES)
        ;
    return place;
}

static bool have(const warprsa_checked_keys *keys,
                 const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES])
{
    return memcmp(keys->digest[place_of(keys, digest)], digest,
                  WARPRSA_CHECKED_KEY_BYTES) == 0;
}

bool warprsa_checked_keys_have(const warprsa_checked_keys *keys,
                               const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES])
{
    bool found = false;

    if (keys == NULL)
        return false;
    pthread_mutex_lock(&lock);
    found = have(keys, digest);
    pthread_mutex_unlock(&lock);
    return found;
}

void warprsa_checked_keys_add(warprsa_checked_keys *keys,
                              const uint8_t digest[WARPRSA_CHECKED_KEY_BYTES])
{
    if (keys == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (!have(keys, digest)) {
        if (keys->count == KEYS_MAX)
            memset(keys, 0, sizeof(*keys));
        keys->count++; /* before the digest: a killed reader's counts, too */
        memcpy(keys->digest[place_of(keys, digest)], digest,
               WARPRSA_CHECKED_KEY_BYTES);
    }
    pthread_mutex_unlock(&lock);
}
