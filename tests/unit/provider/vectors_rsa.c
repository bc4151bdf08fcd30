/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Published vectors through the provider: NIST's for FIPS 186-2 and 186-3 and
 * RSA Laboratories' for PKCS #1, as the package python3-cryptography-vectors
 * has them. Deterministic operations must give the published bytes. PSS
 * signatures depend on their salt, so there the private operation itself is
 * compared: the published signature must come out of the encoded message. With
 * WARPRSA_TEST_KEYS=vault all keys are references.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <string.h>

#include <openssl/rsa.h>

#include "tests/unit/support/module_context.h"
#include "tests/unit/support/rsa_numbers.h"
#include "tests/unit/support/vault_daemon.h"
#include "tests/unit/support/vector_file.h"

enum {
    BYTES_MAX = 2048,
    SKIPPED = 77
};

typedef struct bytes {
    size_t len;
    unsigned char data[BYTES_MAX];
} bytes;

static module_context module;
static OSSL_LIB_CTX *oracle;
static unsigned expected; /* operations by the engine, over all vectors */

typedef struct vector {
    rsa_numbers numbers;
    EVP_PKEY *ours;        /* NULL: not imported yet */
    unsigned vault_number; /* if it is a reference */
    EVP_PKEY *theirs; /* the same key in the context without the provider */
    char digest[16];
    char mgf1_digest[16];
    bytes message;
    bytes secret; /* the signature or the ciphertext */
    void (*check)(struct vector *v);
    unsigned count;
} vector;

static void from_hex(bytes *out, const char *hex)
{
    assert_int_equal(1, OPENSSL_hexstr2buf_ex(out->data, sizeof(out->data),
                                              &out->len, hex, '\0'));
}

static void forget_key(vector *v)
{
    if (v->ours != NULL && vault_daemon_is_wanted())
        vault_daemon_remove(v->vault_number);
    EVP_PKEY_free(v->ours);
    EVP_PKEY_free(v->theirs);
    v->ours = v->theirs = NULL;
}

/* Imports the key that has been read: n, e and d at least. */
static void import_key(vector *v)
{
    if (v->ours != NULL)
        return;
    if (BN_is_zero(v->numbers.value[NUMBER_P]))
        assert_true(rsa_numbers_factor(&v->numbers));
    if (BN_is_zero(v->numbers.value[NUMBER_DP]))
        assert_true(rsa_numbers_crt(&v->numbers));
    v->theirs = rsa_numbers_import(&v->numbers, oracle);
    if (vault_daemon_is_wanted())
        v->ours =
            vault_daemon_reference(module.libctx, v->theirs, &v->vault_number);
    else
        v->ours = rsa_numbers_import(&v->numbers, module.libctx);
    assert_non_null(v->ours);
    assert_non_null(v->theirs);
}

static void raw_public(EVP_PKEY *pkey, const bytes *in, bytes *out)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(oracle, pkey, NULL);
    out->len = sizeof(out->data);
    assert_non_null(ctx);
    assert_true(EVP_PKEY_encrypt_init(ctx) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING) > 0);
    assert_true(EVP_PKEY_encrypt(ctx, out->data, &out->len, in->data, in->len) >
                0);
    EVP_PKEY_CTX_free(ctx);
}

static void raw_private(EVP_PKEY *pkey, const bytes *in, bytes *out)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(module.libctx, pkey, NULL);
    out->len = sizeof(out->data);
    assert_non_null(ctx);
    assert_true(EVP_PKEY_sign_init(ctx) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING) > 0);
    assert_true(EVP_PKEY_sign(ctx, out->data, &out->len, in->data, in->len) >
                0);
    EVP_PKEY_CTX_free(ctx);
    expected++;
}

static int verifies(const vector *v, int padding, const bytes *signature)
{
    EVP_PKEY_CTX *pctx;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_non_null(ctx);
    assert_true(EVP_DigestVerifyInit_ex(ctx, &pctx, v->digest, oracle, NULL,
                                        v->theirs, NULL) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(pctx, padding) > 0);
    const int result = EVP_DigestVerify(ctx, signature->data, signature->len,
                                        v->message.data, v->message.len);
    EVP_MD_CTX_free(ctx);
    return result;
}

static void sign(const vector *v, int padding, bytes *signature)
{
    EVP_PKEY_CTX *pctx;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    signature->len = sizeof(signature->data);
    assert_non_null(ctx);
    assert_true(EVP_DigestSignInit_ex(ctx, &pctx, v->digest, module.libctx,
                                      NULL, v->ours, NULL) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(pctx, padding) > 0);
    assert_true(EVP_DigestSign(ctx, signature->data, &signature->len,
                               v->message.data, v->message.len) > 0);
    EVP_MD_CTX_free(ctx);
    expected++;
}

static void check_pkcs1_signature(vector *v)
{
    bytes signature;
    sign(v, RSA_PKCS1_PADDING, &signature);
    assert_int_equal(signature.len, v->secret.len);
    assert_memory_equal(signature.data, v->secret.data, signature.len);
}

static void check_pss_signature(vector *v)
{
    bytes encoded, signature;
    assert_int_equal(1, verifies(v, RSA_PKCS1_PSS_PADDING, &v->secret));
    raw_public(v->theirs, &v->secret, &encoded);
    raw_private(v->ours, &encoded, &signature);
    assert_int_equal(signature.len, v->secret.len);
    assert_memory_equal(signature.data, v->secret.data, signature.len);

    sign(v, RSA_PKCS1_PSS_PADDING, &signature);
    assert_int_equal(1, verifies(v, RSA_PKCS1_PSS_PADDING, &signature));
}

static void decrypt(const vector *v, int padding, bytes *opened)
{
    EVP_PKEY_CTX *ctx =
        EVP_PKEY_CTX_new_from_pkey(module.libctx, v->ours, NULL);
    opened->len = sizeof(opened->data);
    assert_non_null(ctx);
    assert_true(EVP_PKEY_decrypt_init(ctx) > 0);
    assert_true(EVP_PKEY_CTX_set_rsa_padding(ctx, padding) > 0);
    if (padding == RSA_PKCS1_OAEP_PADDING) {
        assert_true(EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, v->digest, NULL) >
                    0);
        assert_true(
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(ctx, v->mgf1_digest, NULL) > 0);
    }
    assert_true(EVP_PKEY_decrypt(ctx, opened->data, &opened->len,
                                 v->secret.data, v->secret.len) > 0);
    EVP_PKEY_CTX_free(ctx);
    expected++;
}

static void check_decryption(vector *v, int padding)
{
    bytes opened;
    decrypt(v, padding, &opened);
    assert_int_equal(opened.len, v->message.len);
    assert_memory_equal(opened.data, v->message.data, opened.len);
}

static void check_pkcs1_decryption(vector *v)
{
    check_decryption(v, RSA_PKCS1_PADDING);
}

static void check_oaep_decryption(vector *v)
{
    check_decryption(v, RSA_PKCS1_OAEP_PADDING);
}

/* Runs a vector that is complete; only some with a small WARPRSA_TEST_SCALE. */
static void run_vector(vector *v)
{
    const unsigned scale = module_context_scaled(100);

    if (v->count++ % ((100 + scale - 1) / scale) == 0) {
        import_key(v);
        v->check(v);
    }
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void set_number(vector *v, rsa_number which, const char *hex)
{
    if (which == NUMBER_N) /* a new key: forget the old one */
        for (int i = 0; i < NUMBERS; i++)
            BN_zero(v->numbers.value[i]);
    assert_true(BN_hex2bn(&v->numbers.value[which], hex) > 0);
    forget_key(v);
}

/* RSA Laboratories' names. One name stands for the public exponent first, and
 * for the private exponent afterwards. */
static int labelled_number(vector *v, const char *name, const char *value)
{
    static const struct {
        const char *name;
        rsa_number which;
    } labels[] = {
        {"Modulus", NUMBER_N},           {"Public exponent", NUMBER_E},
        {"Exponent", NUMBER_D},          {"Prime 1", NUMBER_P},
        {"Prime 2", NUMBER_Q},           {"Prime exponent 1", NUMBER_DP},
        {"Prime exponent 2", NUMBER_DQ}, {"Coefficient", NUMBER_QINV},
    };
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        if (is(name, labels[i].name)) {
            set_number(v, labels[i].which, value);
            return 1;
        }
    return 0;
}

static void labelled_field(void *arg, const char *name, const char *value)
{
    vector *v = arg;
    if (labelled_number(v, name, value))
        return;
    if (is(name, "Message") || is(name, "Message to be signed")) {
        from_hex(&v->message, value);
    } else if (is(name, "Signature") || is(name, "Encryption")) {
        from_hex(&v->secret, value);
        run_vector(v);
    }
}

/* NIST's names. A vector ends with its signature. In files of signatures to be
 * verified it ends with the result, and only vectors that passed are used. */
static void nist_field(vector *v, const char *name, const char *value)
{
    static const char *const numbers[] = {
        [NUMBER_N] = "n", [NUMBER_E] = "e", [NUMBER_D] = "d",
        [NUMBER_P] = "p", [NUMBER_Q] = "q",
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (is(name, numbers[i])) {
            if (i == NUMBER_D) /* of this vector alone */
                BN_zero(v->numbers.value[NUMBER_DP]);
            set_number(v, (rsa_number)i, value);
        }
    if (is(name, "SHAAlg"))
        snprintf(v->digest, sizeof(v->digest), "%s", value);
    else if (is(name, "Msg"))
        from_hex(&v->message, value);
    else if (is(name, "S"))
        from_hex(&v->secret, value);
}

static void nist_generation_field(void *arg, const char *name,
                                  const char *value)
{
    nist_field(arg, name, value);
    if (is(name, "S"))
        run_vector(arg);
}

static void nist_verification_field(void *arg, const char *name,
                                    const char *value)
{
    nist_field(arg, name, value);
    if (is(name, "Result") && value[0] == 'P')
        run_vector(arg);
}

static void run_file(const char *file, vector_field_fn *field,
                     void (*check)(vector *v), const char *digest,
                     const char *mgf1_digest, unsigned count)
{
    static vector v;
    memset(&v, 0, sizeof(v));
    assert_true(rsa_numbers_init(&v.numbers));
    v.check = check;
    snprintf(v.digest, sizeof(v.digest), "%s", digest);
    snprintf(v.mgf1_digest, sizeof(v.mgf1_digest), "%s", mgf1_digest);
    assert_true(vector_file_read(file, field, &v));
    forget_key(&v);
    rsa_numbers_free(&v.numbers);
    assert_int_equal(v.count, count);
}

TEST(nist_pkcs1_generation)
{
    run_file("FIPS_186-2/SigGen15_186-2.txt", nist_generation_field,
             check_pkcs1_signature, "", "", 250);
}

TEST(nist_pkcs1_verification)
{
    run_file("FIPS_186-2/SigVer15_186-3.rsp", nist_verification_field,
             check_pkcs1_signature, "", "", 75);
}

TEST(nist_pss_generation)
{
    run_file("FIPS_186-2/SigGenPSS_186-2.txt", nist_generation_field,
             check_pss_signature, "", "", 250);
}

TEST(nist_pss_verification)
{
    run_file("FIPS_186-2/SigVerPSS_186-3.rsp", nist_verification_field,
             check_pss_signature, "", "", 75);
}

TEST(pkcs1_signatures)
{
    run_file("pkcs1v15sign-vectors.txt", labelled_field, check_pkcs1_signature,
             "SHA1", "", 300);
}

TEST(pss_signatures)
{
    run_file("pkcs-1v2-1d2-vec/pss-vect.txt", labelled_field,
             check_pss_signature, "SHA1", "", 60);
}

TEST(pkcs1_decryptions)
{
    run_file("pkcs1v15crypt-vectors.txt", labelled_field,
             check_pkcs1_decryption, "", "", 300);
}

TEST(oaep_decryptions)
{
    run_file("pkcs-1v2-1d2-vec/oaep-vect.txt", labelled_field,
             check_oaep_decryption, "SHA1", "SHA1", 60);
}

/* The files are named after MGF1's digest, then OAEP's. */
TEST(oaep_other_digests)
{
    run_file("oaep-custom/oaep-sha1-sha256.txt", labelled_field,
             check_oaep_decryption, "SHA256", "SHA1", 60);
    run_file("oaep-custom/oaep-sha512-sha384.txt", labelled_field,
             check_oaep_decryption, "SHA384", "SHA512", 60);
}

static int open_contexts(void **state)
{
    oracle = OSSL_LIB_CTX_new();
    if (vault_daemon_is_wanted())
        vault_daemon_start();
    return oracle != NULL &&
                   module_context_open(&module, module_context_engine(), "")
               ? 0
               : -1;
}

/* Runs last: the engine must have computed all operations. */
TEST(all_by_the_engine)
{
    assert_true(module_context_close(&module));
    assert_int_equal(
        module_context_counter(&module, module_context_engine_counter()),
        expected);
    assert_int_equal(module_context_counter(&module, "cpu"), 0);
    assert_int_equal(module_context_counter(&module, "checks_failed"), 0);
    OSSL_LIB_CTX_free(oracle);
    if (vault_daemon_is_wanted())
        assert_int_equal(vault_daemon_stop(), 0);
}

int main(void)
{
    if (module_context_device_missing())
        return MODULE_CONTEXT_SKIPPED;
    if (vector_directory() == NULL) {
        printf("python3-cryptography-vectors is not installed\n");
        return MODULE_CONTEXT_SKIPPED;
    }
    return cmocka_run_group_tests(unit_tests, open_contexts, NULL);
}
