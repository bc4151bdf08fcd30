/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a reading has brought; see vault_reading.h.
 */
#include "batching/vault/vault_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more. False: no memory, or too many. */
static bool make_room(void *array, unsigned count, unsigned *room, size_t size)
{
    void **of = array;
    const unsigned more = *room == 0 ? 16 : *room * 2;
    void *grown = NULL;

    if (count < *room)
        return true;
    if (count >= WARPRSA_VAULT_KEYS_MAX)
        return false;
    grown = reallocarray(*of, more, size);
    if (grown == NULL)
        return false;
    *of = grown;
    *room = more;
    return true;
}

void warprsa_vault_reading_init(warprsa_vault_reading *reading,
                                warprsa_vault_means *means)
{
    *reading = (warprsa_vault_reading){.means = means};
}

void warprsa_vault_reading_free(warprsa_vault_reading *reading)
{
    for (unsigned i = 0; i < reading->key_count; i++)
        warprsa_vault_key_release(reading->keys[i]);
    free(reading->keys);
    free(reading->refusals);
    warprsa_key_rules_free(&reading->rules);
    warprsa_vault_reading_init(reading, reading->means);
}

/* Copies what is for the log. */
static void copy_printable(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
    for (char *c = out; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static bool refuse(warprsa_vault_reading *reading, const char *name,
                   bool is_certificates, const char *why)
{
    warprsa_vault_refusal *refusal = NULL;

    if (!make_room(&reading->refusals, reading->refusal_count,
                   &reading->refusal_room, sizeof(*refusal)))
        return false;
    refusal = &reading->refusals[reading->refusal_count++];
    refusal->is_certificates = is_certificates;
    copy_printable(refusal->name, sizeof(refusal->name), name);
    copy_printable(refusal->why, sizeof(refusal->why), why);
    return true;
}

bool warprsa_vault_reading_refuse(warprsa_vault_reading *reading,
                                  const char *name, const char *why)
{
    return refuse(reading, name, false, why);
}

bool warprsa_vault_reading_refuse_certificates(warprsa_vault_reading *reading,
                                               const char *name,
                                               const char *why)
{
    return refuse(reading, name, true, why);
}

void warprsa_vault_reading_no_keys(warprsa_vault_reading *reading,
                                   const char *why)
{
    copy_printable(reading->keys_why, sizeof(reading->keys_why), why);
}

void warprsa_vault_reading_no_rules(warprsa_vault_reading *reading,
                                    const char *why)
{
    copy_printable(reading->rules_why, sizeof(reading->rules_why), why);
}

/* Adds a key; NULL: it is refused. */
static bool add(warprsa_vault_reading *reading, const char *name,
                warprsa_vault_key *key)
{
    const bool is_full = reading->key_count >= WARPRSA_VAULT_KEYS_MAX;
    char why[WARPRSA_VAULT_WHY_SIZE] =
        "its numbers are none of a key, or there is no memory";

    if (key != NULL && make_room(&reading->keys, reading->key_count,
                                 &reading->key_room, sizeof(*reading->keys))) {
        reading->keys[reading->key_count++] = key;
        return true;
    }
    warprsa_vault_key_release(key);
    if (is_full)
        snprintf(why, sizeof(why), "the vault has room for %d keys",
                 WARPRSA_VAULT_KEYS_MAX);
    (void)warprsa_vault_reading_refuse(reading, name, why);
    return false;
}

bool warprsa_vault_reading_add(warprsa_vault_reading *reading, const char *name,
                               const warprsa_key_numbers *numbers)
{
    return warprsa_key_name_is_valid(name, strlen(name)) &&
           add(reading, name,
               warprsa_vault_key_new(reading->means, name, numbers));
}

bool warprsa_vault_reading_add_remote(warprsa_vault_reading *reading,
                                      const warprsa_remote_key *remote)
{
    return warprsa_key_name_is_valid(remote->name, strlen(remote->name)) &&
           add(reading, remote->name,
               warprsa_vault_key_new_remote(reading->means, remote));
}

/* Whether this is the key that was refused last. */
static bool has_refused(const warprsa_vault_reading *reading, const char *name)
{
    const warprsa_vault_refusal *last =
        reading->refusal_count > 0
            ? &reading->refusals[reading->refusal_count - 1]
            : NULL;

    return last != NULL && !last->is_certificates &&
           strcmp(last->name, name) == 0;
}

bool warprsa_vault_reading_certify(warprsa_vault_reading *reading,
                                   const char *name, const char *pem,
                                   size_t bytes)
{
    warprsa_vault_key *last =
        reading->key_count > 0 ? reading->keys[reading->key_count - 1] : NULL;

    if (has_refused(reading, name))
        return true;
    return last != NULL && strcmp(last->name, name) == 0 &&
           warprsa_vault_key_set_certificates(last, pem, bytes);
}
