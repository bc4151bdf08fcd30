/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An entry of the token: an RSA key of the vault with its certificate, if it
 * has one; or the certificate of an authority in some key's chain. The objects
 * that programs see are views of an entry: private key, public key,
 * certificate. An entry never changes. When the daemon tells something new of a
 * key, a new entry takes the place of the old one.
 */
#ifndef WARPRSA_PKCS11_ENTRY_H
#define WARPRSA_PKCS11_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "batching/daemon/client/client_uses.h"
#include "batching/vault/wire/key_rights.h"
#include "pkcs11/crypto.h"
#include "pkcs11/cryptoki.h"
#include "pkcs11/mechanisms.h"

enum {
    WARPRSA_ENTRY_ID_BYTES = 20,     /* CKA_ID */
    WARPRSA_ENTRY_DIGEST_BYTES = 32, /* SHA-256 */
    WARPRSA_ENTRY_LABEL_SIZE = 128,
};

/* The views of an entry. */
typedef enum warprsa_object_kind {
    WARPRSA_OBJECT_PRIVATE = 1,
    WARPRSA_OBJECT_PUBLIC,
    WARPRSA_OBJECT_CERTIFICATE,
    WARPRSA_OBJECT_KINDS
} warprsa_object_kind;

typedef struct warprsa_bytes {
    uint8_t *data; /* NULL: none */
    size_t count;
} warprsa_bytes;

typedef struct warprsa_mechanism_list {
    CK_MECHANISM_TYPE types[WARPRSA_MECHANISMS_MAX];
    unsigned count;
} warprsa_mechanism_list;

typedef struct warprsa_certificate {
    warprsa_bytes value, issuer, serial; /* DER; no value: none */
    CK_DATE start, end;
    uint8_t check_value[3]; /* of CKA_CHECK_VALUE */
    bool authority;
} warprsa_certificate;

typedef struct warprsa_entry {
    atomic_uint references;
    /* Of what it is: SHA-256 of a key's SubjectPublicKeyInfo, or of an
     * authority's certificate. Of all that was told of it. */
    uint8_t identity[WARPRSA_ENTRY_DIGEST_BYTES];
    uint8_t edition[WARPRSA_ENTRY_DIGEST_BYTES];
    bool has_key;
    char label[WARPRSA_ENTRY_LABEL_SIZE]; /* a key's: its name */
    uint8_t id[WARPRSA_ENTRY_ID_BYTES];
    warprsa_bytes spki; /* SubjectPublicKeyInfo, DER */
    uint8_t spki_sha256[WARPRSA_ENTRY_DIGEST_BYTES];
    warprsa_bytes subject; /* of the certificate, DER; empty without one */
    warprsa_certificate certificate;

    /* Of a key alone. */
    warprsa_bytes modulus, exponent; /* big-endian, without leading zeros */
    unsigned modulus_bits, modulus_bytes;
    bool pss; /* the key is for RSA-PSS alone */
    EVP_PKEY *public;
    warprsa_key_rights rights;
    warprsa_mechanism_list private_mechanisms, public_mechanisms;
    CK_FLAGS allowed; /* CKF_SIGN, CKF_SIGN_RECOVER, CKF_DECRYPT by the rules */
    /* The client's key, made at the first use. */
    _Atomic(warprsa_backend_key *) backend_key;
} warprsa_entry;

/* What is told of a key. Its certificate may be NULL. */
typedef struct warprsa_key_told {
    const char *name;
    const uint8_t *spki;
    size_t spki_bytes;
    const warprsa_key_rights *rights;
    X509 *certificate;
} warprsa_key_told;

/* Makes the entry of a key, or of an authority, with one reference. NULL: no
 * memory, or it is none that the token takes. Any thread. */
warprsa_entry *
warprsa_entry_of_key(const warprsa_crypto *crypto, const warprsa_key_told *told,
                     const uint8_t edition[WARPRSA_ENTRY_DIGEST_BYTES]);
warprsa_entry *warprsa_entry_of_authority(const warprsa_crypto *crypto,
                                          X509 *certificate);

/* One reference more, or less; the last one frees. NULL: does nothing. Any
 * thread. */
void warprsa_entry_hold(warprsa_entry *entry);
void warprsa_entry_release(warprsa_entry *entry);

/* Whether an entry has this view. */
bool warprsa_entry_has(const warprsa_entry *entry, warprsa_object_kind kind);

/* Whether the private key may do `flag` (CKF_SIGN, CKF_SIGN_RECOVER or
 * CKF_DECRYPT), or the public key (CKF_VERIFY and so on), by a mechanism. */
bool warprsa_entry_allows(const warprsa_entry *entry,
                          const warprsa_mechanism *mechanism, CK_FLAGS flag);

#endif
