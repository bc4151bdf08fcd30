/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Decryption by references: the same results and errors as by ordinary keys.
 */
#include "tests/unit/provider/references_fixture.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/rsa.h>

/* ---- decryption ---- */

typedef struct way_to_decrypt {
    int padding;
    const char *digest, *mgf1, *label;
} way_to_decrypt;

static bool set_decryption(EVP_PKEY_CTX *ctx, const way_to_decrypt *way)
{
    char *label = way->label == NULL ? NULL : OPENSSL_strdup(way->label);

    return EVP_PKEY_CTX_set_rsa_padding(ctx, way->padding) > 0 &&
           (way->digest == NULL ||
            EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, way->digest, NULL) > 0) &&
           (way->mgf1 == NULL ||
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(ctx, way->mgf1, NULL) > 0) &&
           (label == NULL || EVP_PKEY_CTX_set0_rsa_oaep_label(
                                 ctx, label, (int)strlen(label)) > 0);
}

static size_t encrypt(const way_to_decrypt *way, const unsigned char *message,
                      size_t length, unsigned char out[256])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, rsa, NULL);
    size_t size = 256;

    assert_true(EVP_PKEY_encrypt_init(ctx) > 0 && set_decryption(ctx, way) &&
                EVP_PKEY_encrypt(ctx, out, &size, message, length) > 0);
    EVP_PKEY_CTX_free(ctx);
    return size;
}

/* Decrypts. Returns the length, or -1 with errors on the queue. */
static int decrypt(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                   const way_to_decrypt *way, const unsigned char *from,
                   size_t from_length, unsigned char out[256])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    size_t size = 256;
    bool ok = EVP_PKEY_decrypt_init(ctx) > 0 && set_decryption(ctx, way) &&
              EVP_PKEY_decrypt(ctx, out, &size, from, from_length) > 0;

    EVP_PKEY_CTX_free(ctx);
    return ok ? (int)size : -1;
}

static const way_to_decrypt ways_to_decrypt[] = {
    {.padding = RSA_PKCS1_PADDING},
    {.padding = RSA_NO_PADDING},
    {.padding = RSA_PKCS1_OAEP_PADDING},
    {RSA_PKCS1_OAEP_PADDING, "SHA256", NULL, NULL},
    {RSA_PKCS1_OAEP_PADDING, "SHA2-256", "SHA1", "a label"},
    {RSA_PKCS1_OAEP_PADDING, "SHA3-512", NULL, "another"},
    {RSA_PKCS1_OAEP_PADDING, "BLAKE2s256", "SHA512", NULL},
};

/* The same by the reference and by the key, errors included. */
static void assert_decrypts_the_same(const way_to_decrypt *way,
                                     const unsigned char *from, size_t length)
{
    unsigned char expected[256], out[256];
    int wanted = decrypt(NULL, rsa, way, from, length, expected);
    unsigned long error = ERR_peek_last_error();

    ERR_clear_error();
    assert_int_equal(decrypt(subject, rsa_reference, way, from, length, out),
                     wanted);
    assert_int_equal(ERR_peek_last_error(), error);
    ERR_clear_error();
    if (wanted > 0)
        assert_memory_equal(out, expected, (size_t)wanted);
}

TEST(decrypts_by_each_padding)
{
    unsigned char message[256] = "secret", cipher[257] = {0};

    vault_key = rsa;
    for (size_t i = 0; i < sizeof(ways_to_decrypt) / sizeof(ways_to_decrypt[0]);
         i++) {
        const way_to_decrypt *way = &ways_to_decrypt[i];
        size_t length = way->padding == RSA_NO_PADDING ? 256 : 6;

        message[0] = way->padding == RSA_NO_PADDING ? 0 : 's';
        encrypt(way, message, length, cipher);
        uses = 0;
        assert_decrypts_the_same(way, cipher, 256);
        assert_int_equal(uses, 1);
        assert_int_equal(last.padding, way->padding == RSA_PKCS1_PADDING
                                           ? WARPRSA_PADDING_PKCS1
                                       : way->padding == RSA_NO_PADDING
                                           ? WARPRSA_PADDING_NONE
                                           : WARPRSA_PADDING_OAEP);
        encrypt(way, message, way->padding == RSA_NO_PADDING ? 256 : 0, cipher);
        assert_decrypts_the_same(way, cipher, 256);
        cipher[100] ^= 1; /* what comes out has no padding */
        if (way->padding != RSA_PKCS1_PADDING)
            assert_decrypts_the_same(way, cipher, 256);
        assert_decrypts_the_same(way, cipher, 257);
        memset(cipher, 0xff, 256); /* above the modulus */
        assert_decrypts_the_same(way, cipher, 256);
        memset(cipher, 0, 256);
        assert_decrypts_the_same(way, cipher, 255);
    }
}

RUN_REFERENCE_TESTS()
