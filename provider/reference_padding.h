/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The paddings that libcrypto's operations add and remove above the RSA_METHOD,
 * as uses of a vault key: what the default provider's context was told about
 * them is asked back from it.
 */
#ifndef WARPRSA_PROVIDER_REFERENCE_PADDING_H
#define WARPRSA_PROVIDER_REFERENCE_PADDING_H

#include <openssl/evp.h>

#include "batching/vault/wire/key_use.h"
#include "provider/context.h"
#include "provider/settings.h"

/*
 * Fills in what a context of the default provider does: SIGN PKCS1 or PSS of a
 * hash, whose length is in input_bytes; SIGN NONE of a number, where that is 0;
 * DECRYPT OAEP or TLS. `get` is its get_ctx_params(). False: it pads otherwise,
 * or by a digest that no use can name, or by none. Leaves no error. One thread.
 */
bool warprsa_reference_signs(const warprsa_context *context,
                             warprsa_get_params_fn *get, void *wrapped,
                             warprsa_key_use *use);
bool warprsa_reference_removes_padding(const warprsa_context *context,
                                       warprsa_get_params_fn *get,
                                       void *wrapped, warprsa_key_use *use);

/* Begins to hash with the digest of a use. NULL: no memory. */
EVP_MD_CTX *warprsa_reference_hashing_new(const warprsa_context *context,
                                          const warprsa_key_use *use);

#endif
