/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What padding takes from libcrypto, found once for all keys: a library context
 * that no configuration file reaches, the default provider's decryption, its
 * digests, and the beginnings of their DigestInfo.
 */
#ifndef WARPRSA_BATCHING_VAULT_PADDING_LIBRARY_H
#define WARPRSA_BATCHING_VAULT_PADDING_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/core_dispatch.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>

#include "batching/vault/wire/key_use.h"

enum {
    WARPRSA_DIGEST_INFO_BYTES_MAX = 32, /* without the hash */
};

/* The default provider's asymmetric cipher RSA, of provider-asym_cipher(7). */
typedef struct warprsa_padding_cipher {
    OSSL_FUNC_asym_cipher_newctx_fn *newctx;
    OSSL_FUNC_asym_cipher_freectx_fn *freectx;
    OSSL_FUNC_asym_cipher_decrypt_init_fn *decrypt_init;
    OSSL_FUNC_asym_cipher_decrypt_fn *decrypt;
} warprsa_padding_cipher;

typedef struct warprsa_padding_digest {
    EVP_MD *md; /* NULL: libcrypto does not have it */
    uint8_t info[WARPRSA_DIGEST_INFO_BYTES_MAX];
    size_t info_bytes;
} warprsa_padding_digest;

typedef struct warprsa_padding_library {
    OSSL_LIB_CTX *libctx;
    OSSL_PROVIDER *provider;
    void *provctx;
    warprsa_padding_cipher cipher;
    OSSL_FUNC_keymgmt_new_fn *key_new;
    warprsa_padding_digest digests[WARPRSA_USE_DIGESTS];
} warprsa_padding_library;

/* NULL: no memory, or libcrypto has no default provider. One thread. */
warprsa_padding_library *warprsa_padding_library_new(void);

/* After all that was made with it. NULL: does nothing. */
void warprsa_padding_library_free(warprsa_padding_library *library);

/* An RSA object without numbers, in the library context. NULL: no memory. Any
 * thread. */
RSA *warprsa_padding_library_rsa(const warprsa_padding_library *library);

/* Takes the errors that the calling thread has on libcrypto's queue, and leaves
 * none there. */
void warprsa_padding_take_errors(warprsa_use_errors *errors);

#endif
