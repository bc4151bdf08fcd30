/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The module's own libcrypto: a library context that reads no configuration and
 * has the default provider alone, and its digests. With it the module hashes,
 * verifies and encrypts, and makes random numbers. It never has a private key.
 */
#ifndef WARPRSA_PKCS11_CRYPTO_H
#define WARPRSA_PKCS11_CRYPTO_H

#include <stdbool.h>

#include <openssl/evp.h>
#include <openssl/provider.h>

#include "batching/vault/wire/key_use.h"

typedef struct warprsa_crypto {
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider;
    /* By warprsa_use_digest. NULL: libcrypto has none of that name. */
    EVP_MD *digests[WARPRSA_USE_DIGESTS];
} warprsa_crypto;

/* False: no memory; the structure is as after free(). One thread. */
bool warprsa_crypto_init(warprsa_crypto *crypto);

/* Nobody may use it any more. Does nothing to one of zero bytes. */
void warprsa_crypto_free(warprsa_crypto *crypto);

#endif
