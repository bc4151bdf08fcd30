/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private keys for the tests of batching/vault; see vault_keys.h.
 */
#include "tests/unit/support/vault_keys.h"

#include "tests/unit/support/unit_test.h"

#include <openssl/rsa.h>

static EVP_PKEY *generate(EVP_PKEY_CTX *ctx)
{
    EVP_PKEY *key = NULL;

    assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

EVP_PKEY *vault_keys_make(const char *type, unsigned bits, unsigned primes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);

    assert_non_null(ctx);
    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, (int)bits), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_primes(ctx, (int)primes), 1);
    return generate(ctx);
}

EVP_PKEY *vault_keys_make_restricted(int salt_bytes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA-PSS", NULL);

    assert_non_null(ctx);
    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 1024), 1);
    assert_int_equal(
        EVP_PKEY_CTX_set_rsa_pss_keygen_md_name(ctx, "SHA256", NULL), 1);
    assert_int_equal(
        EVP_PKEY_CTX_set_rsa_pss_keygen_mgf1_md_name(ctx, "SHA256"), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_keygen_saltlen(ctx, salt_bytes),
                     1);
    return generate(ctx);
}

void vault_keys_numbers(warprsa_key_numbers *numbers, const EVP_PKEY *key)
{
    assert_true(warprsa_key_numbers_from(numbers, key));
}
