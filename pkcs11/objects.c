/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of objects.
 */
#include "pkcs11/objects.h"

#include <stdlib.h>
#include <string.h>

enum {
    KIND_BITS = 2,
    KIND_MASK = (1 << KIND_BITS) - 1,
    FIRST_ROOM = 64,
};

static CK_OBJECT_HANDLE handle_of(uint32_t place, warprsa_object_kind kind)
{
    return (CK_OBJECT_HANDLE)place << KIND_BITS | (CK_OBJECT_HANDLE)kind;
}

bool warprsa_objects_init(warprsa_objects *objects)
{
    memset(objects, 0, sizeof(*objects));
    return pthread_rwlock_init(&objects->lock, NULL) == 0;
}

void warprsa_objects_free(warprsa_objects *objects)
{
    for (uint32_t i = 0; i < objects->count; i++)
        warprsa_entry_release(objects->places[i].entry);
    free(objects->places);
    pthread_rwlock_destroy(&objects->lock);
}

warprsa_entry *warprsa_objects_find(warprsa_objects *objects,
                                    CK_OBJECT_HANDLE handle,
                                    warprsa_object_kind *kind)
{
    const CK_OBJECT_HANDLE place = handle >> KIND_BITS;
    warprsa_entry *entry = NULL;

    *kind = (warprsa_object_kind)(handle & KIND_MASK);
    if (place == 0 || *kind == 0)
        return NULL;
    pthread_rwlock_rdlock(&objects->lock);
    if (place <= objects->count)
        entry = objects->places[place - 1].entry;
    if (entry != NULL && !warprsa_entry_has(entry, *kind))
        entry = NULL;
    warprsa_entry_hold(entry);
    pthread_rwlock_unlock(&objects->lock);
    return entry;
}

/* Identities are digests: any bytes of them are a hash. */
static uint32_t *bucket_of(warprsa_objects *objects, const uint8_t *identity)
{
    uint32_t hash = 0;

    memcpy(&hash, identity, sizeof(hash));
    return &objects->buckets[hash % WARPRSA_OBJECT_BUCKETS];
}

/* The place of an identity; NULL: it has none. */
static warprsa_object_place *place_of(warprsa_objects *objects,
                                      const uint8_t *identity)
{
    uint32_t number = *bucket_of(objects, identity);

    while (number != 0) {
        warprsa_object_place *place = &objects->places[number - 1];

        if (memcmp(place->identity, identity, sizeof(place->identity)) == 0)
            return place;
        number = place->next;
    }
    return NULL;
}

warprsa_entry *warprsa_objects_known(warprsa_objects *objects,
                                     const uint8_t *identity,
                                     const uint8_t *edition)
{
    warprsa_object_place *place = NULL;
    warprsa_entry *entry = NULL;

    pthread_rwlock_rdlock(&objects->lock);
    place = place_of(objects, identity);
    if (place != NULL && place->entry != NULL &&
        memcmp(place->entry->edition, edition, sizeof(place->entry->edition)) ==
            0)
        entry = place->entry;
    warprsa_entry_hold(entry);
    pthread_rwlock_unlock(&objects->lock);
    return entry;
}

/* A new place. NULL: no memory. */
static warprsa_object_place *add_place(warprsa_objects *objects,
                                       const uint8_t *identity)
{
    uint32_t *bucket = bucket_of(objects, identity);
    warprsa_object_place *place = NULL;

    if (objects->count == objects->room) {
        const uint32_t room =
            objects->room == 0 ? FIRST_ROOM : objects->room * 2;

        place = realloc(objects->places, room * sizeof(*place));
        if (place == NULL)
            return NULL;
        objects->places = place;
        objects->room = room;
    }
    place = &objects->places[objects->count++];
    *place = (warprsa_object_place){.next = *bucket};
    memcpy(place->identity, identity, sizeof(place->identity));
    *bucket = objects->count;
    return place;
}

static bool put(warprsa_objects *objects, warprsa_entry *entry)
{
    warprsa_object_place *place = place_of(objects, entry->identity);

    if (place == NULL)
        place = add_place(objects, entry->identity);
    if (place == NULL)
        return false;
    place->found = true;
    warprsa_entry_hold(entry);
    warprsa_entry_release(place->entry);
    place->entry = entry;
    return true;
}

/* Whether an entry is the certificate of an authority whose key is in the
 * vault, with the same certificate: one object is enough. */
static bool is_double(warprsa_objects *objects, const warprsa_entry *entry)
{
    const warprsa_bytes *value = &entry->certificate.value;
    const warprsa_object_place *place =
        entry->has_key ? NULL : place_of(objects, entry->spki_sha256);
    const warprsa_bytes *other = NULL;

    if (place == NULL || place->entry == NULL || !place->found)
        return false;
    other = &place->entry->certificate.value;
    return other->count == value->count &&
           memcmp(other->data, value->data, value->count) == 0;
}

bool warprsa_objects_replace(warprsa_objects *objects,
                             warprsa_entry *const *entries, size_t count)
{
    bool ok = true;

    pthread_rwlock_wrlock(&objects->lock);
    for (uint32_t i = 0; i < objects->count; i++)
        objects->places[i].found = false;
    for (size_t i = 0; ok && i < count; i++)
        ok = put(objects, entries[i]);
    for (uint32_t i = 0; ok && i < objects->count; i++)
        if (objects->places[i].entry != NULL &&
            (!objects->places[i].found ||
             is_double(objects, objects->places[i].entry))) {
            warprsa_entry_release(objects->places[i].entry);
            objects->places[i].entry = NULL;
        }
    pthread_rwlock_unlock(&objects->lock);
    return ok;
}

void warprsa_objects_each(warprsa_objects *objects, warprsa_object_fn each,
                          void *arg)
{
    bool more = true;

    pthread_rwlock_rdlock(&objects->lock);
    for (uint32_t i = 0; more && i < objects->count; i++) {
        const warprsa_entry *entry = objects->places[i].entry;

        for (unsigned kind = WARPRSA_OBJECT_PRIVATE;
             more && entry != NULL && kind < WARPRSA_OBJECT_KINDS; kind++)
            if (warprsa_entry_has(entry, (warprsa_object_kind)kind))
                more = each(arg, handle_of(i + 1, (warprsa_object_kind)kind),
                            entry, (warprsa_object_kind)kind);
    }
    pthread_rwlock_unlock(&objects->lock);
}
