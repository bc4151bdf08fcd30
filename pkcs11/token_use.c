/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking warprsad, and what its answers are called in PKCS #11.
 */
#include "pkcs11/token_use.h"

/* The client's key of an entry, made at its first use. NULL: no memory. */
static warprsa_backend_key *key_of(warprsa_library *library,
                                   warprsa_entry *entry)
{
    warprsa_backend_key *key = atomic_load(&entry->backend_key);
    warprsa_backend_key *made = NULL;

    if (key != NULL)
        return key;
    made = warprsa_client_vault_key(library->client, entry->identity,
                                    entry->modulus_bytes);
    if (made == NULL ||
        atomic_compare_exchange_strong(&entry->backend_key, &key, made))
        return made;
    warprsa_backend_daemon.key_release(made); /* another thread was first */
    return key;
}

static CK_RV denial(const warprsa_client_use *asked)
{
    return asked->denial == WARPRSA_DENIED_RATE
               ? CKR_FUNCTION_REJECTED
               : CKR_KEY_FUNCTION_NOT_PERMITTED;
}

CK_RV warprsa_token_use(warprsa_library *library, warprsa_entry *entry,
                        const warprsa_key_use *use, const uint8_t *input,
                        uint8_t *output, size_t *bytes)
{
    warprsa_backend_key *key = key_of(library, entry);
    warprsa_client_use asked;

    if (key == NULL)
        return CKR_HOST_MEMORY;
    warprsa_client_use_begin(library->client, &asked, key, use, input);
    switch (warprsa_client_use_wait(library->client, &asked, output)) {
    case WARPRSA_USE_DONE:
        *bytes = asked.bytes;
        return CKR_OK;
    case WARPRSA_USE_DENIED:
        return denial(&asked);
    case WARPRSA_USE_LATER:
        return CKR_DEVICE_ERROR;
    default:
        return use->operation == WARPRSA_USE_DECRYPT
                   ? CKR_ENCRYPTED_DATA_INVALID
                   : CKR_FUNCTION_FAILED;
    }
}
