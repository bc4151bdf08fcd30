/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a session has of the vault; see session_vault.h.
 */
#include "batching/daemon/server/session_vault.h"

#include <stdlib.h>
#include <string.h>

enum {
    REVIEWED_AT_ONCE = 64,
};

/* Lets go of what the vault had under this name. */
static void let_go(warprsa_session_key *key)
{
    warprsa_key_release(key->key);
    warprsa_vault_key_release(key->vault->key);
    key->key = NULL;
    key->vault->key = NULL;
    key->bytes = 0;
}

/* Finds the key in the vault, and adds it to the queue for this user, if an
 * engine takes it. */
static void find_in_vault(warprsa_session *s, warprsa_session_key *key)
{
    const warprsa_server_config *config = &s->context->config;
    const warprsa_private_key *numbers;
    uint8_t id[WARPRSA_KEY_ID_BYTES];

    if (config->vault == NULL)
        return;
    key->vault->key =
        warprsa_vault_find(config->vault, key->vault->spki_sha256);
    if (key->vault->key == NULL)
        return;
    key->bytes = warprsa_vault_key_modulus_bytes(key->vault->key);
    numbers = warprsa_vault_key_for_engines(key->vault->key);
    if (numbers != NULL && config->key_id(numbers, id))
        key->key = warprsa_queue_key(config->queue, s->user.owner, id, numbers);
    explicit_bzero(id, sizeof(id));
}

bool warprsa_session_name_key(warprsa_session *s, warprsa_session_key *key,
                              const uint8_t spki[WARPRSA_KEY_SPKI_BYTES])
{
    key->vault = calloc(1, sizeof(*key->vault));
    if (key->vault == NULL)
        return false;
    memcpy(key->vault->spki_sha256, spki, sizeof(key->vault->spki_sha256));
    s->vault_keys++;
    return true;
}

void warprsa_session_drop_key(warprsa_session *s, warprsa_session_key *key)
{
    if (key->vault != NULL) {
        let_go(key);
        free(key->vault);
        key->vault = NULL;
        s->vault_keys--;
    }
    warprsa_key_release(key->key);
    key->key = NULL;
    key->taken = false;
}

warprsa_vault_key *warprsa_session_find_key(warprsa_session *s,
                                            warprsa_session_key *key)
{
    warprsa_session_vault_key *named = key->vault;

    if (named->key != NULL && warprsa_vault_key_is_removed(named->key))
        let_go(key);
    if (named->key == NULL)
        find_in_vault(s, key);
    return named->key;
}

bool warprsa_session_review_keys(warprsa_session *s)
{
    const warprsa_vault *vault = s->context->config.vault;
    uint64_t generation;

    if (s->vault_keys == 0 || vault == NULL)
        return false;
    generation = warprsa_vault_generation(vault);
    if (s->vault_generation != generation)
        s->reviewed_end = 0;
    s->vault_generation = generation;
    for (unsigned i = 0; i < REVIEWED_AT_ONCE && s->reviewed_end < s->keys_end;
         i++) {
        warprsa_session_key *key = &s->keys[s->reviewed_end++];

        if (key->vault != NULL && key->vault->key != NULL &&
            warprsa_vault_key_is_removed(key->vault->key))
            let_go(key);
    }
    return s->reviewed_end < s->keys_end;
}

enum {
    NUMBERS = 3, /* of a use: its input, power and answer */
};

warprsa_session_use *warprsa_session_use_new(warprsa_vault_key *key,
                                             const warprsa_key_use *header)
{
    const unsigned size = warprsa_vault_key_modulus_bytes(key);
    warprsa_session_use *use = malloc(sizeof(*use) + NUMBERS * (size_t)size);

    if (use == NULL)
        return NULL;
    *use = (warprsa_session_use){.key = key, .header = *header, .size = size};
    warprsa_vault_key_hold(key);
    use->power = use->input + size;
    use->answer = use->power + size;
    return use;
}

void warprsa_session_use_free(warprsa_session_use *use)
{
    if (use == NULL)
        return;
    warprsa_vault_key_release(use->key);
    explicit_bzero(use->input, NUMBERS * (size_t)use->size);
    free(use);
}
