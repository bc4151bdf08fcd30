/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Readings of the vault's keys.
 */
#include "pkcs11/reading.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "batching/base/clock.h"
#include "batching/daemon/client/key_lookup.h"

enum {
    WHY_SIZE = 500,
    AGAIN_MS = 20, /* until a daemon that was away is asked again */
    FIRST_ROOM = 16,
};

/* What has been read so far. */
typedef struct reading {
    warprsa_library *library;
    warprsa_entry **entries;
    size_t count, room;
    warprsa_key_message key; /* the last one */
} reading;

/* Takes over a reference to an entry; NULL is left out. False: no memory. */
static bool keep(reading *r, warprsa_entry *entry)
{
    if (entry == NULL)
        return true;
    if (r->count == r->room) {
        const size_t room = r->room == 0 ? FIRST_ROOM : r->room * 2;
        warprsa_entry **more = realloc(r->entries, room * sizeof(*more));

        if (more == NULL) {
            warprsa_entry_release(entry);
            return false;
        }
        r->entries = more;
        r->room = room;
    }
    r->entries[r->count++] = entry;
    return true;
}

/* ---- certificates ---- */

/* A certificate that is encrypted is none: nobody is asked. */
static int no_passphrase(char *out, int size, int writes, void *arg)
{
    (void)out, (void)size, (void)writes, (void)arg;
    return -1;
}

/* The next certificate, which the caller frees. NULL: there is none. */
static X509 *next_certificate(const reading *r, BIO *pem)
{
    X509 *certificate = X509_new_ex(r->library->crypto.libctx, NULL);

    if (certificate != NULL &&
        PEM_read_bio_X509(pem, &certificate, no_passphrase, NULL) == NULL) {
        X509_free(certificate);
        certificate = NULL;
    }
    ERR_clear_error();
    return certificate;
}

/* Keeps the certificates of a chain after the first one. */
static bool keep_chain(reading *r, BIO *pem)
{
    X509 *certificate = NULL;
    bool ok = true;

    while (ok && (certificate = next_certificate(r, pem)) != NULL) {
        ok = keep(r,
                  warprsa_entry_of_authority(&r->library->crypto, certificate));
        X509_free(certificate);
    }
    return ok;
}

/* ---- keys ---- */

/* The digest of these parts. */
static bool digest_of(const reading *r, const void *first, size_t first_bytes,
                      const void *second, size_t second_bytes,
                      uint8_t digest[WARPRSA_ENTRY_DIGEST_BYTES])
{
    EVP_MD_CTX *hashing = EVP_MD_CTX_new();
    const bool ok =
        hashing != NULL &&
        EVP_DigestInit_ex2(hashing,
                           r->library->crypto.digests[WARPRSA_DIGEST_SHA256],
                           NULL) == 1 &&
        EVP_DigestUpdate(hashing, first, first_bytes) == 1 &&
        EVP_DigestUpdate(hashing, second, second_bytes) == 1 &&
        EVP_DigestFinal_ex(hashing, digest, NULL) == 1;

    EVP_MD_CTX_free(hashing);
    return ok;
}

/* Keeps a key with its certificates. One that is no RSA key is left out. */
static bool keep_key(reading *r, const char *pem, size_t bytes)
{
    const warprsa_key_message *key = &r->key;
    uint8_t identity[WARPRSA_ENTRY_DIGEST_BYTES];
    uint8_t edition[WARPRSA_ENTRY_DIGEST_BYTES];
    BIO *certificates = BIO_new_mem_buf(pem, (int)bytes);
    X509 *own = NULL;
    warprsa_entry *entry = NULL;
    bool ok = certificates != NULL &&
              digest_of(r, key->spki, key->spki_bytes, "", 0, identity) &&
              digest_of(r, key, offsetof(warprsa_key_message, certificates),
                        pem, bytes, edition);

    if (ok) {
        own = next_certificate(r, certificates);
        entry = warprsa_objects_known(&r->library->objects, identity, edition);
    }
    if (ok && entry == NULL)
        entry = warprsa_entry_of_key(&r->library->crypto,
                                     &(warprsa_key_told){
                                         .name = key->name,
                                         .spki = key->spki,
                                         .spki_bytes = key->spki_bytes,
                                         .rights = &key->rights,
                                         .certificate = own,
                                     },
                                     edition);
    /* The key was replaced while its certificates were fetched: neither is
     * believed. */
    if (entry != NULL && own != NULL &&
        EVP_PKEY_eq(X509_get0_pubkey(own), entry->public) != 1) {
        warprsa_entry_release(entry);
        entry = NULL;
        ok = false;
    }
    ok = ok && keep(r, entry) && keep_chain(r, certificates);
    X509_free(own);
    BIO_free(certificates);
    return ok;
}

/* Keeps the last key with all its certificates, of which most keys have come
 * with theirs. */
static warprsa_key_found add_key(reading *r, warprsa_key_lookup *lookup)
{
    char why[WHY_SIZE];
    char *pem = NULL;
    size_t bytes = 0;
    warprsa_key_found found = warprsa_key_lookup_certificates(
        lookup, &r->key, &pem, &bytes, why, sizeof(why));

    /* What comes back with it is the same for the same key each time. */
    r->key.generation = 0;
    if (found == WARPRSA_KEY_FOUND && !keep_key(r, pem, bytes))
        found = WARPRSA_KEY_UNKNOWN;
    free(pem);
    /* Gone meanwhile: the next one is looked for after its name. */
    return found == WARPRSA_KEY_NOT_FOUND ? WARPRSA_KEY_FOUND : found;
}

/* Reads all keys. False: the daemon has not told all of them by until_ns. */
static bool read_all(reading *r, uint64_t until_ns)
{
    warprsa_key_found found = WARPRSA_KEY_UNKNOWN;
    warprsa_key_lookup lookup;
    char why[WHY_SIZE];
    char name[WARPRSA_KEY_NAME_SIZE] = "";

    if (warprsa_key_lookup_open(&lookup, r->library->settings.socket, until_ns,
                                why, sizeof(why)))
        do {
            found = warprsa_key_lookup_next(&lookup, name, &r->key, why,
                                            sizeof(why));
            if (found == WARPRSA_KEY_FOUND) {
                memcpy(name, r->key.name, sizeof(name));
                found = add_key(r, &lookup);
            }
        } while (found == WARPRSA_KEY_FOUND);
    warprsa_key_lookup_close(&lookup);
    return found == WARPRSA_KEY_NOT_FOUND;
}

/* ---- updates ---- */

/* One reading, whose result becomes the token's. */
static bool read_once(warprsa_library *library, uint64_t until_ns)
{
    reading *r = calloc(1, sizeof(*r));
    bool ok = false;

    if (r == NULL)
        return false;
    r->library = library;
    ok = read_all(r, until_ns) &&
         warprsa_objects_replace(&library->objects, r->entries, r->count);
    for (size_t i = 0; i < r->count; i++)
        warprsa_entry_release(r->entries[i]);
    free(r->entries);
    free(r);
    return ok;
}

/* With the lock held. */
static CK_RV read_now(warprsa_library *library)
{
    static const struct timespec nap = {0, AGAIN_MS * WARPRSA_NS_PER_MS};
    const uint64_t until_ns =
        warprsa_clock_ns() + library->settings.deadline_ms * WARPRSA_NS_PER_MS;
    const uint64_t number = ++library->readings;
    bool done = read_once(library, until_ns);

    while (!done && !library->has_read && warprsa_clock_ns() < until_ns) {
        nanosleep(&nap, NULL);
        done = read_once(library, until_ns);
    }
    library->last_reading = number;
    library->has_read = library->has_read || done;
    return library->has_read ? CKR_OK : CKR_DEVICE_ERROR;
}

CK_RV warprsa_reading_update(warprsa_library *library)
{
    const uint64_t before = atomic_load(&library->readings);
    CK_RV rv = CKR_OK;

    pthread_mutex_lock(&library->reading_lock);
    /* Else one that has begun since has done it, or could not. */
    if (library->last_reading <= before)
        rv = read_now(library);
    else if (!library->has_read)
        rv = CKR_DEVICE_ERROR;
    pthread_mutex_unlock(&library->reading_lock);
    return rv;
}
