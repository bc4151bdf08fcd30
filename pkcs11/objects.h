/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The objects of the token. A key keeps the handles of its objects as long as
 * the process has the module initialised, also while the vault does not have
 * it. Handles are made of the entry's place, from 1, and the view.
 */
#ifndef WARPRSA_PKCS11_OBJECTS_H
#define WARPRSA_PKCS11_OBJECTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pkcs11/entry.h"

enum {
    WARPRSA_OBJECT_BUCKETS = 1024,
};

typedef struct warprsa_object_place {
    uint8_t identity[WARPRSA_ENTRY_DIGEST_BYTES];
    warprsa_entry *entry; /* NULL: the vault does not have it now */
    bool found;           /* by the reading under way */
    uint32_t next;        /* place with the same hash, from 1; 0: none */
} warprsa_object_place;

typedef struct warprsa_objects {
    pthread_rwlock_t lock; /* of all that follows */
    warprsa_object_place *places;
    uint32_t count, room;
    uint32_t buckets[WARPRSA_OBJECT_BUCKETS]; /* first places, from 1 */
} warprsa_objects;

/* False: no memory. */
bool warprsa_objects_init(warprsa_objects *objects);

/* Nobody uses it any more. Releases all entries. */
void warprsa_objects_free(warprsa_objects *objects);

/* The entry of a handle, which the caller releases, and the view. NULL: there
 * is no such object now. Any thread. */
warprsa_entry *warprsa_objects_find(warprsa_objects *objects,
                                    CK_OBJECT_HANDLE handle,
                                    warprsa_object_kind *kind);

/* The entry with this identity, if its edition is this one, which the caller
 * releases; else NULL. Any thread. */
warprsa_entry *warprsa_objects_known(warprsa_objects *objects,
                                     const uint8_t *identity,
                                     const uint8_t *edition);

/* The token has these entries from now on, and no others. Entries that are
 * there already may be among them, and some twice; the callers' references stay
 * theirs. False: no memory, and the token may have some of them. One thread at
 * a time. */
bool warprsa_objects_replace(warprsa_objects *objects,
                             warprsa_entry *const *entries, size_t count);

/* Calls `each` for every object until it returns false. It must not call
 * functions of this file. Any thread. */
typedef bool (*warprsa_object_fn)(void *arg, CK_OBJECT_HANDLE handle,
                                  const warprsa_entry *entry,
                                  warprsa_object_kind kind);
void warprsa_objects_each(warprsa_objects *objects, warprsa_object_fn each,
                          void *arg);

#endif
