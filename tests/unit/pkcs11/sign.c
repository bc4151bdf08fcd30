/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signatures and decryption by the PKCS #11 module, mechanism by mechanism,
 * with libcrypto as the oracle: it verifies what the token signs, and encrypts
 * what the token decrypts; and what libcrypto signs the token verifies.
 */
#include "tests/unit/support/token_support.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/rsa.h>

enum {
    BYTES = 256, /* of a modulus of 2048 bits */
};

static uint8_t message[1000];

/* A digest, and what PKCS #11 calls it and what is made with it. */
static const struct digest {
    const char *name;
    CK_MECHANISM_TYPE hash, pkcs, pss;
    CK_RSA_PKCS_MGF_TYPE mgf;
} digests[] = {
    {"SHA1", CKM_SHA_1, CKM_SHA1_RSA_PKCS, CKM_SHA1_RSA_PKCS_PSS,
     CKG_MGF1_SHA1},
    {"SHA224", CKM_SHA224, CKM_SHA224_RSA_PKCS, CKM_SHA224_RSA_PKCS_PSS,
     CKG_MGF1_SHA224},
    {"SHA256", CKM_SHA256, CKM_SHA256_RSA_PKCS, CKM_SHA256_RSA_PKCS_PSS,
     CKG_MGF1_SHA256},
    {"SHA384", CKM_SHA384, CKM_SHA384_RSA_PKCS, CKM_SHA384_RSA_PKCS_PSS,
     CKG_MGF1_SHA384},
    {"SHA512", CKM_SHA512, CKM_SHA512_RSA_PKCS, CKM_SHA512_RSA_PKCS_PSS,
     CKG_MGF1_SHA512},
    {"SHA3-224", CKM_SHA3_224, CKM_SHA3_224_RSA_PKCS, CKM_SHA3_224_RSA_PKCS_PSS,
     CKG_MGF1_SHA3_224},
    {"SHA3-256", CKM_SHA3_256, CKM_SHA3_256_RSA_PKCS, CKM_SHA3_256_RSA_PKCS_PSS,
     CKG_MGF1_SHA3_256},
    {"SHA3-384", CKM_SHA3_384, CKM_SHA3_384_RSA_PKCS, CKM_SHA3_384_RSA_PKCS_PSS,
     CKG_MGF1_SHA3_384},
    {"SHA3-512", CKM_SHA3_512, CKM_SHA3_512_RSA_PKCS, CKM_SHA3_512_RSA_PKCS_PSS,
     CKG_MGF1_SHA3_512},
};

enum {
    DIGESTS = sizeof(digests) / sizeof(digests[0]),
};

static EVP_MD *fetch(const struct digest *d)
{
    EVP_MD *md = EVP_MD_fetch(NULL, d->name, NULL);

    assert_non_null(md);
    return md;
}

static size_t hash_of(const struct digest *d, uint8_t hash[EVP_MAX_MD_SIZE])
{
    EVP_MD *md = fetch(d);
    unsigned bytes = 0;

    assert_int_equal(
        EVP_Digest(message, sizeof(message), hash, &bytes, md, NULL), 1);
    EVP_MD_free(md);
    return bytes;
}

/* libcrypto's context for the www key. salt: -1: PKCS #1. */
static EVP_PKEY_CTX *oracle(EVP_MD_CTX *hashing, const struct digest *d,
                            int salt, bool signs)
{
    EVP_PKEY_CTX *context = NULL;

    assert_int_equal(
        (signs ? EVP_DigestSignInit_ex : EVP_DigestVerifyInit_ex)(
            hashing, &context, d->name, NULL, NULL, token.www, NULL),
        1);
    if (salt >= 0) {
        assert_int_equal(
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(context, salt), 1);
    }
    return context;
}

static bool oracle_verifies(const struct digest *d, int salt,
                            const uint8_t *signature, CK_ULONG bytes)
{
    EVP_MD_CTX *hashing = EVP_MD_CTX_new();
    bool ok = false;

    (void)oracle(hashing, d, salt, false);
    ok = EVP_DigestVerify(hashing, signature, bytes, message,
                          sizeof(message)) == 1;
    EVP_MD_CTX_free(hashing);
    return ok;
}

static void oracle_signs(const struct digest *d, int salt,
                         uint8_t signature[BYTES])
{
    EVP_MD_CTX *hashing = EVP_MD_CTX_new();
    size_t bytes = BYTES;

    (void)oracle(hashing, d, salt, true);
    assert_int_equal(
        EVP_DigestSign(hashing, signature, &bytes, message, sizeof(message)),
        1);
    EVP_MD_CTX_free(hashing);
}

/* ---- signing ---- */

static void begin_signature(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism)
{
    assert_int_equal(token.p11->C_SignInit(session, mechanism,
                                           test_token_private(session, "www")),
                     CKR_OK);
}

/* Signs these bytes at once, after asking for the length. */
static void sign(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                 const uint8_t *data, size_t bytes, uint8_t signature[BYTES])
{
    CK_ULONG length = 0;

    begin_signature(session, mechanism);
    assert_int_equal(
        token.p11->C_Sign(session, (CK_BYTE *)data, bytes, NULL, &length),
        CKR_OK);
    assert_int_equal(length, BYTES);
    assert_int_equal(
        token.p11->C_Sign(session, (CK_BYTE *)data, bytes, signature, &length),
        CKR_OK);
    assert_int_equal(length, BYTES);
}

/* Signs the message in three parts. */
static void sign_parts(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                       uint8_t signature[BYTES])
{
    CK_ULONG length = BYTES - 1;

    begin_signature(session, mechanism);
    assert_int_equal(token.p11->C_SignUpdate(session, message, 1), CKR_OK);
    assert_int_equal(token.p11->C_SignUpdate(session, NULL, 0), CKR_OK);
    assert_int_equal(
        token.p11->C_SignUpdate(session, message + 1, sizeof(message) - 1),
        CKR_OK);
    /* Too little room: the operation goes on. */
    assert_int_equal(token.p11->C_SignFinal(session, signature, &length),
                     CKR_BUFFER_TOO_SMALL);
    assert_int_equal(length, BYTES);
    assert_int_equal(token.p11->C_SignFinal(session, signature, &length),
                     CKR_OK);
}

static CK_RV verify(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                    const uint8_t *data, size_t bytes, const uint8_t *signature)
{
    assert_int_equal(token.p11->C_VerifyInit(session, mechanism,
                                             test_token_public(session, "www")),
                     CKR_OK);
    return token.p11->C_Verify(session, (CK_BYTE *)data, bytes,
                               (CK_BYTE *)signature, BYTES);
}

/* A mechanism that hashes, and the one of the same padding that does not. */
static void try_both(CK_SESSION_HANDLE session, const struct digest *d,
                     CK_MECHANISM *hashes, CK_MECHANISM *hashed, int salt,
                     const uint8_t *data, size_t bytes)
{
    uint8_t signature[BYTES];

    sign(session, hashes, message, sizeof(message), signature);
    assert_true(oracle_verifies(d, salt, signature, BYTES));
    sign_parts(session, hashes, signature);
    assert_true(oracle_verifies(d, salt, signature, BYTES));
    sign(session, hashed, data, bytes, signature);
    assert_true(oracle_verifies(d, salt, signature, BYTES));
    oracle_signs(d, salt, signature);
    assert_int_equal(
        verify(session, hashes, message, sizeof(message), signature), CKR_OK);
    assert_int_equal(verify(session, hashed, data, bytes, signature), CKR_OK);
    /* The control: another message, another signature. */
    assert_int_equal(
        verify(session, hashes, message, sizeof(message) - 1, signature),
        CKR_SIGNATURE_INVALID);
    signature[BYTES - 1] ^= 1;
    assert_int_equal(verify(session, hashed, data, bytes, signature),
                     CKR_SIGNATURE_INVALID);
}

/* libcrypto's DigestInfo: what its own signature has in it. */
static size_t digest_info(const struct digest *d, uint8_t info[BYTES])
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, token.www, NULL);
    uint8_t signature[BYTES];
    size_t bytes = BYTES;

    oracle_signs(d, -1, signature);
    assert_int_equal(EVP_PKEY_verify_recover_init(context), 1);
    assert_int_equal(
        EVP_PKEY_verify_recover(context, info, &bytes, signature, BYTES), 1);
    EVP_PKEY_CTX_free(context);
    return bytes;
}

TEST_IN(pkcs1, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();

    for (unsigned i = 0; i < DIGESTS; i++) {
        CK_MECHANISM hashes = {digests[i].pkcs, NULL, 0};
        CK_MECHANISM hashed = {CKM_RSA_PKCS, NULL, 0};
        uint8_t info[BYTES];
        const size_t bytes = digest_info(&digests[i], info);

        try_both(session, &digests[i], &hashes, &hashed, -1, info, bytes);
    }
}

/* What libcrypto would not encode so is any bytes to the vault: SHA-256 without
 * the NULL. The rules of `www` allow these. */
TEST_IN(digest_infos_of_other_encoders, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    CK_MECHANISM mechanism = {CKM_RSA_PKCS, NULL, 0};
    const uint8_t info[49] = {0x30, 0x2f, 0x30, 0x0b, 0x06, 0x09,
                              0x60, 0x86, 0x48, 0x01, 0x65, 0x03,
                              0x04, 0x02, 0x01, 0x04, 0x20};
    uint8_t signature[BYTES], back[BYTES];
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, token.www, NULL);
    size_t bytes = BYTES;

    sign(session, &mechanism, info, sizeof(info), signature);
    assert_int_equal(EVP_PKEY_verify_recover_init(context), 1);
    assert_int_equal(
        EVP_PKEY_verify_recover(context, back, &bytes, signature, BYTES), 1);
    assert_int_equal(bytes, sizeof(info));
    assert_memory_equal(back, info, sizeof(info));
    EVP_PKEY_CTX_free(context);
}

TEST_IN(pss, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();

    for (unsigned i = 0; i < DIGESTS; i++) {
        uint8_t hash[EVP_MAX_MD_SIZE];
        const size_t bytes = hash_of(&digests[i], hash);
        CK_RSA_PKCS_PSS_PARAMS parameter = {digests[i].hash, digests[i].mgf,
                                            i * 7};
        CK_MECHANISM hashes = {digests[i].pss, &parameter, sizeof(parameter)};
        CK_MECHANISM hashed = {CKM_RSA_PKCS_PSS, &parameter, sizeof(parameter)};

        try_both(session, &digests[i], &hashes, &hashed, (int)i * 7, hash,
                 bytes);
    }
}

/* RSA of a number: by the key's own public operation. */
TEST_IN(raw_numbers, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    CK_MECHANISM mechanism = {CKM_RSA_X_509, NULL, 0};
    uint8_t number[128] = {0}, signature[128], back[128];
    CK_ULONG bytes = sizeof(signature);

    memset(number + 100, 0x17, 28);
    /* Shorter data have zeros in front of them. */
    assert_int_equal(
        token.p11->C_SignRecoverInit(session, &mechanism,
                                     test_token_private(session, "raw")),
        CKR_OK);
    assert_int_equal(
        token.p11->C_SignRecover(session, number + 100, 28, signature, &bytes),
        CKR_OK);
    assert_int_equal(bytes, sizeof(signature));
    assert_int_equal(
        token.p11->C_VerifyRecoverInit(session, &mechanism,
                                       test_token_public(session, "raw")),
        CKR_OK);
    bytes = sizeof(back);
    assert_int_equal(token.p11->C_VerifyRecover(
                         session, signature, sizeof(signature), back, &bytes),
                     CKR_OK);
    assert_memory_equal(back, number, sizeof(number));
    /* Decryption is the same operation. */
    assert_int_equal(
        token.p11->C_DecryptInit(session, &mechanism,
                                 test_token_private(session, "raw")),
        CKR_OK);
    bytes = sizeof(back);
    assert_int_equal(
        token.p11->C_Decrypt(session, number, sizeof(number), back, &bytes),
        CKR_OK);
    assert_memory_equal(back, signature, sizeof(signature));
}

/* ---- decryption ---- */

static size_t encrypt(int padding, const struct digest *d, const char *label,
                      uint8_t ciphertext[BYTES], size_t bytes)
{
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, token.www, NULL);
    size_t length = BYTES;

    assert_int_equal(EVP_PKEY_encrypt_init(context), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(context, padding), 1);
    if (padding == RSA_PKCS1_OAEP_PADDING) {
        assert_int_equal(
            EVP_PKEY_CTX_set_rsa_oaep_md_name(context, d->name, NULL), 1);
        assert_int_equal(
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(context, d->name, NULL), 1);
        if (label != NULL)
            assert_int_equal(
                EVP_PKEY_CTX_set0_rsa_oaep_label(context, OPENSSL_strdup(label),
                                                 (int)strlen(label)),
                1);
    }
    assert_int_equal(
        EVP_PKEY_encrypt(context, ciphertext, &length, message, bytes), 1);
    EVP_PKEY_CTX_free(context);
    return length;
}

/* Decrypts to `bytes` bytes of the message, at once and in parts. */
static void decrypts(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                     uint8_t ciphertext[BYTES], size_t bytes)
{
    const CK_OBJECT_HANDLE key = test_token_private(session, "www");
    uint8_t plain[BYTES];
    CK_ULONG length = bytes - 1;

    assert_int_equal(token.p11->C_DecryptInit(session, mechanism, key), CKR_OK);
    assert_int_equal(
        token.p11->C_Decrypt(session, ciphertext, BYTES, plain, &length),
        CKR_BUFFER_TOO_SMALL);
    assert_int_equal(length, bytes);
    assert_int_equal(
        token.p11->C_Decrypt(session, ciphertext, BYTES, NULL, &length),
        CKR_OK);
    assert_true(length >= bytes && length <= BYTES);
    assert_int_equal(
        token.p11->C_Decrypt(session, ciphertext, BYTES, plain, &length),
        CKR_OK);
    assert_int_equal(length, bytes);
    assert_memory_equal(plain, message, bytes);
    assert_int_equal(token.p11->C_DecryptInit(session, mechanism, key), CKR_OK);
    for (unsigned at = 0; at < BYTES; at += BYTES / 2) {
        length = sizeof(plain);
        assert_int_equal(token.p11->C_DecryptUpdate(session, ciphertext + at,
                                                    BYTES / 2, plain, &length),
                         CKR_OK);
        assert_int_equal(length, 0);
    }
    length = sizeof(plain);
    assert_int_equal(token.p11->C_DecryptFinal(session, plain, &length),
                     CKR_OK);
    assert_int_equal(length, bytes);
    assert_memory_equal(plain, message, bytes);
}

/* What the token encrypts, it decrypts, and so does libcrypto elsewhere. */
static void encrypts(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                     size_t bytes)
{
    uint8_t ciphertext[BYTES];
    CK_ULONG length = sizeof(ciphertext);

    assert_int_equal(token.p11->C_EncryptInit(
                         session, mechanism, test_token_public(session, "www")),
                     CKR_OK);
    assert_int_equal(
        token.p11->C_Encrypt(session, message, bytes, ciphertext, &length),
        CKR_OK);
    assert_int_equal(length, BYTES);
    decrypts(session, mechanism, ciphertext, bytes);
}

TEST_IN(decryption_pkcs1, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    CK_MECHANISM mechanism = {CKM_RSA_PKCS, NULL, 0};
    uint8_t ciphertext[BYTES];

    (void)encrypt(RSA_PKCS1_PADDING, NULL, NULL, ciphertext, 48);
    decrypts(session, &mechanism, ciphertext, 48);
    encrypts(session, &mechanism, BYTES - 11);
}

TEST_IN(decryption_oaep, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();

    for (unsigned i = 0; i < DIGESTS; i++) {
        CK_RSA_PKCS_OAEP_PARAMS parameter = {digests[i].hash, digests[i].mgf,
                                             CKZ_DATA_SPECIFIED, NULL, 0};
        CK_MECHANISM mechanism = {CKM_RSA_PKCS_OAEP, &parameter,
                                  sizeof(parameter)};
        uint8_t ciphertext[BYTES];

        (void)encrypt(RSA_PKCS1_OAEP_PADDING, &digests[i], NULL, ciphertext,
                      48);
        decrypts(session, &mechanism, ciphertext, 48);
        (void)encrypt(RSA_PKCS1_OAEP_PADDING, &digests[i], "a label",
                      ciphertext, 48);
        parameter.pSourceData = "a label";
        parameter.ulSourceDataLen = 7;
        decrypts(session, &mechanism, ciphertext, 48);
        encrypts(session, &mechanism, 48);
    }
}

TEST_IN(decryption_of_nonsense, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();
    CK_RSA_PKCS_OAEP_PARAMS parameter = {CKM_SHA256, CKG_MGF1_SHA256, 0, NULL,
                                         0};
    CK_MECHANISM mechanism = {CKM_RSA_PKCS_OAEP, &parameter, sizeof(parameter)};
    uint8_t ciphertext[BYTES] = {0}, plain[BYTES];
    CK_ULONG bytes = sizeof(plain);

    ciphertext[BYTES - 1] = 2;
    assert_int_equal(
        token.p11->C_DecryptInit(session, &mechanism,
                                 test_token_private(session, "www")),
        CKR_OK);
    assert_int_equal(
        token.p11->C_Decrypt(session, ciphertext, BYTES, plain, &bytes),
        CKR_ENCRYPTED_DATA_INVALID);
    /* It is not below the modulus. */
    memset(ciphertext, 0xff, sizeof(ciphertext));
    assert_int_equal(
        token.p11->C_DecryptInit(session, &mechanism,
                                 test_token_private(session, "www")),
        CKR_OK);
    assert_int_equal(
        token.p11->C_Decrypt(session, ciphertext, BYTES, plain, &bytes),
        CKR_ENCRYPTED_DATA_INVALID);
}

/* ---- digests ---- */

TEST_IN(digest_values, test_token_begin, test_token_end)
{
    CK_SESSION_HANDLE session = test_token_session();

    for (unsigned i = 0; i < DIGESTS; i++) {
        CK_MECHANISM mechanism = {digests[i].hash, NULL, 0};
        uint8_t hash[EVP_MAX_MD_SIZE], wanted[EVP_MAX_MD_SIZE];
        const size_t bytes = hash_of(&digests[i], wanted);
        CK_ULONG length = bytes - 1;

        assert_int_equal(token.p11->C_DigestInit(session, &mechanism), CKR_OK);
        assert_int_equal(token.p11->C_Digest(session, message, sizeof(message),
                                             hash, &length),
                         CKR_BUFFER_TOO_SMALL);
        assert_int_equal(length, bytes);
        assert_int_equal(token.p11->C_Digest(session, message, sizeof(message),
                                             hash, &length),
                         CKR_OK);
        assert_memory_equal(hash, wanted, bytes);
        assert_int_equal(token.p11->C_DigestInit(session, &mechanism), CKR_OK);
        assert_int_equal(
            token.p11->C_DigestUpdate(session, message, sizeof(message)),
            CKR_OK);
        memset(hash, 0, sizeof(hash));
        assert_int_equal(token.p11->C_DigestFinal(session, hash, &length),
                         CKR_OK);
        assert_memory_equal(hash, wanted, bytes);
    }
}

RUN_TESTS(test_token_begin_group, test_token_end_group)
