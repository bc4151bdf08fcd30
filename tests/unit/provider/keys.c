/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every kind of key, through the provider with the engine on the CPU: results
 * are right by the default provider, and counted where they were computed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "tests/unit/support/module_context.h"
#include "tests/unit/support/open_files.h"
#include "tests/unit/support/provider_subject.h"

static const char *provider_name(const OSSL_PROVIDER *provider)
{
    return OSSL_PROVIDER_get0_name(provider);
}

TEST(two_library_contexts)
{
    OSSL_LIB_CTX *one = subject_open(HOST_ENGINE),
                 *two = subject_open(HOST_ENGINE);
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *in_one = key_in(one, key), *in_two = key_in(two, key);

    assert_true(signs_right(one, in_one, key));
    assert_true(signs_right(two, in_two, key));
    assert_true(signs_right(two, in_two, key));
    assert_counted(one, 1, 0);
    assert_counted(two, 2, 0);
    EVP_PKEY_free(in_one);
    OSSL_LIB_CTX_free(one);
    assert_true(signs_right(two, in_two, key));
    assert_counted(two, 3, 0);
    EVP_PKEY_free(in_two);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(two);
}

/* Keys that are read stay in the default provider. Those that are generated or
 * made of numbers are in this one, and so are operations. */
TEST(homes_of_keys)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *key = key_make(subject, "RSA", 1024, 2);
    EVP_PKEY *read = key_in(subject, key), *oracle = key_in(NULL, key);
    EVP_PKEY *built = key_from_numbers(subject, NULL, key, EVP_PKEY_KEYPAIR,
                                       EVP_PKEY_KEYPAIR);
    EVP_SIGNATURE *signature = EVP_SIGNATURE_fetch(subject, "RSA", NULL);
    EVP_ASYM_CIPHER *cipher = EVP_ASYM_CIPHER_fetch(subject, "RSA", NULL);

    assert_string_equal(provider_name(EVP_PKEY_get0_provider(key)), "warprsa");
    assert_string_equal(provider_name(EVP_PKEY_get0_provider(read)), "default");
    assert_string_equal(provider_name(EVP_PKEY_get0_provider(built)),
                        "warprsa");
    assert_string_equal(provider_name(EVP_SIGNATURE_get0_provider(signature)),
                        "warprsa");
    assert_string_equal(provider_name(EVP_ASYM_CIPHER_get0_provider(cipher)),
                        "warprsa");
    assert_true(signs_right(subject, built, oracle));
    assert_counted(subject, 1, 0);
    EVP_SIGNATURE_free(signature);
    EVP_ASYM_CIPHER_free(cipher);
    EVP_PKEY_free(built);
    EVP_PKEY_free(oracle);
    EVP_PKEY_free(read);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
}

/* A key that our KEYMGMT makes and copies, and the default provider writes. */
TEST(own_keymgmt)
{
    static const char *const types[] = {"RSA", "RSA-PSS"};
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);

    for (unsigned i = 0; i < 2; i++) {
        EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(subject, types[i],
                                                       "warprsa.keymgmt=yes");
        EVP_PKEY *key = NULL, *copy = NULL, *oracle = NULL;

        assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 1024), 1);
        assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
        assert_string_equal(provider_name(EVP_PKEY_get0_provider(key)),
                            "warprsa");
        copy = EVP_PKEY_dup(key);
        assert_non_null(copy);
        assert_int_equal(EVP_PKEY_eq(key, copy), 1);
        oracle = key_in(NULL, key);
        assert_true(EVP_PKEY_is_a(copy, types[i]));
        assert_true(signs_right(subject, key, oracle));
        EVP_PKEY_free(key);
        assert_true(signs_right(subject, copy, oracle));
        EVP_PKEY_free(copy);
        EVP_PKEY_free(oracle);
        EVP_PKEY_CTX_free(ctx);
    }
    assert_counted(subject, 4, 0);
    OSSL_LIB_CTX_free(subject);
}

/* Makes an RSA-PSS key that is restricted to SHA-256. */
static EVP_PKEY *restricted_key(OSSL_LIB_CTX *libctx)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(libctx, "RSA-PSS", NULL);
    EVP_PKEY *key = NULL;

    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, 1024), 1);
    assert_int_equal(
        EVP_PKEY_CTX_set_rsa_pss_keygen_md_name(ctx, "SHA256", NULL), 1);
    assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* Asserts that two keys have the same encoding of a selection. */
static void assert_encoded_alike(EVP_PKEY *one, EVP_PKEY *other, int selection,
                                 const char *output, const char *structure)
{
    EVP_PKEY *const keys[] = {one, other};
    unsigned char *data[2] = {NULL, NULL};
    size_t length[2] = {0, 0};

    for (unsigned i = 0; i < 2; i++) {
        OSSL_ENCODER_CTX *ctx = OSSL_ENCODER_CTX_new_for_pkey(
            keys[i], selection, output, structure, NULL);

        assert_non_null(ctx);
        assert_int_equal(OSSL_ENCODER_to_data(ctx, &data[i], &length[i]), 1);
        OSSL_ENCODER_CTX_free(ctx);
    }
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(data[0], data[1], length[0]);
    OPENSSL_free(data[0]);
    OPENSSL_free(data[1]);
}

/* A key of ours is encoded as the default provider's, whatever is selected: its
 * restrictions where only numbers are, and its numbers where only parameters
 * are. */
TEST(encoded_as_by_default)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *keys[] = {key_make(subject, "RSA", 1024, 2),
                        restricted_key(subject)};

    for (unsigned i = 0; i < 2; i++) {
        EVP_PKEY *oracle = key_in(NULL, keys[i]);

        assert_string_equal(provider_name(EVP_PKEY_get0_provider(keys[i])),
                            "warprsa");
        assert_encoded_alike(keys[i], oracle, OSSL_KEYMGMT_SELECT_PUBLIC_KEY,
                             "DER", "SubjectPublicKeyInfo");
        assert_encoded_alike(keys[i], oracle, OSSL_KEYMGMT_SELECT_KEYPAIR,
                             "PEM", "PrivateKeyInfo");
        assert_encoded_alike(keys[i], oracle, EVP_PKEY_KEY_PARAMETERS, "TEXT",
                             NULL);
        EVP_PKEY_free(oracle);
    }
    EVP_PKEY_free(keys[0]);
    EVP_PKEY_free(keys[1]);
    OSSL_LIB_CTX_free(subject);
}

/* A key of ours is encrypted by a cipher that only the caller's library context
 * has: DES of the legacy provider. That context decrypts it. */
TEST(encrypted_by_the_callers_cipher)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    OSSL_PROVIDER *legacy = OSSL_PROVIDER_load(subject, "legacy");
    EVP_PKEY *key = key_make(subject, "RSA", 1024, 2);
    OSSL_ENCODER_CTX *ctx = OSSL_ENCODER_CTX_new_for_pkey(
        key, EVP_PKEY_KEYPAIR, "PEM", "EncryptedPrivateKeyInfo", NULL);
    EVP_PKEY *decrypted = NULL;
    BIO *bio = BIO_new(BIO_s_mem());

    if (legacy == NULL)
        skip();
    assert_string_equal(provider_name(EVP_PKEY_get0_provider(key)), "warprsa");
    assert_non_null(ctx);
    assert_int_equal(
        OSSL_ENCODER_CTX_set_passphrase(ctx, (const unsigned char *)"word", 4),
        1);
    assert_int_equal(OSSL_ENCODER_CTX_set_cipher(ctx, "DES-CBC", NULL), 1);
    assert_int_equal(OSSL_ENCODER_to_bio(ctx, bio), 1);
    decrypted =
        PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, "word", subject, NULL);
    assert_int_equal(EVP_PKEY_eq(decrypted, key), 1);
    EVP_PKEY_free(decrypted);
    BIO_free(bio);
    OSSL_ENCODER_CTX_free(ctx);
    EVP_PKEY_free(key);
    OSSL_PROVIDER_unload(legacy);
    OSSL_LIB_CTX_free(subject);
}

TEST(public_keys)
{
    static const char *const queries[] = {NULL, "warprsa.keymgmt=yes"};
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    unsigned char signature[128];

    assert_int_equal(sign_with(NULL, key, 0, signature, sizeof(signature)),
                     sizeof(signature));
    for (unsigned i = 0; i < 2; i++) {
        EVP_PKEY *half = key_from_numbers(
            subject, queries[i], key, EVP_PKEY_PUBLIC_KEY, EVP_PKEY_PUBLIC_KEY);
        EVP_PKEY *copy = EVP_PKEY_dup(half);
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        unsigned char unmade[128];

        assert_non_null(copy);
        assert_int_equal(EVP_PKEY_eq(half, copy), 1);
        assert_int_equal(EVP_DigestVerifyInit_ex(ctx, NULL, "SHA256", subject,
                                                 NULL, copy, NULL),
                         1);
        assert_int_equal(EVP_DigestVerify(ctx, signature, sizeof(signature),
                                          support_message,
                                          sizeof(support_message)),
                         1);
        /* The key has no private exponent. */
        assert_int_equal(sign_with(subject, half, 0, unmade, sizeof(unmade)),
                         0);
        ERR_clear_error();
        EVP_MD_CTX_free(ctx);
        EVP_PKEY_free(copy);
        EVP_PKEY_free(half);
    }
    assert_counted(subject, 0, 0);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
}

static EVP_PKEY *without_crt(EVP_PKEY *key)
{
    static const char *const names[] = {
        OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E, OSSL_PKEY_PARAM_RSA_D};
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
    BIGNUM *numbers[3] = {NULL};
    OSSL_PARAM *params = NULL;
    EVP_PKEY *bare = NULL;

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(EVP_PKEY_get_bn_param(key, names[i], &numbers[i]), 1);
        assert_int_equal(OSSL_PARAM_BLD_push_BN(builder, names[i], numbers[i]),
                         1);
    }
    params = OSSL_PARAM_BLD_to_param(builder);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &bare, EVP_PKEY_KEYPAIR, params),
                     1);
    for (unsigned i = 0; i < 3; i++)
        BN_clear_free(numbers[i]);
    OSSL_PARAM_BLD_free(builder);
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(ctx);
    return bare;
}

/* Operations with a key that no engine takes are computed by libcrypto, and
 * counted with that reason. */
static void assert_unsupported(EVP_PKEY *key)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *copy = key_from_numbers(subject, NULL, key, EVP_PKEY_KEYPAIR,
                                      EVP_PKEY_KEYPAIR);

    assert_true(signs_right(subject, copy, key));
    assert_true(signs_right(subject, copy, key));
    assert_counted(subject, 0, 2);
    assert_int_equal(counter_of(subject, "warprsa-cpu-unsupported-key"), 2);
    EVP_PKEY_free(copy);
    OSSL_LIB_CTX_free(subject);
}

TEST(unsupported_keys)
{
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *bare = without_crt(key);
    EVP_PKEY *short_key = key_make(NULL, "RSA", 1022, 2);
    EVP_PKEY *multi = key_make(NULL, "RSA", 1536, 3);

    assert_unsupported(bare);
    assert_unsupported(short_key);
    assert_unsupported(multi);
    EVP_PKEY_free(key);
    EVP_PKEY_free(bare);
    EVP_PKEY_free(short_key);
    EVP_PKEY_free(multi);
}

TEST(pss_key)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *key = key_make(NULL, "RSA-PSS", 1024, 2);
    EVP_PKEY *copy = key_in(subject, key);

    assert_true(signs_right(subject, copy, key));
    assert_counted(subject, 1, 0);
    EVP_PKEY_free(copy);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
}

/* PSS signatures are random, and are verified. The others are not, and equal
 * the default provider's. */
TEST_WITH(paddings_of_signatures, host_subject_setup, host_subject_teardown,
          NULL)
{
    unsigned char ours[128], theirs[128];

    assert_int_equal(sign_with(subject, subject_key, RSA_PKCS1_PSS_PADDING,
                               ours, sizeof(ours)),
                     sizeof(ours));
    assert_true(
        is_right(oracle_key, RSA_PKCS1_PSS_PADDING, ours, sizeof(ours)));
    static const int paddings[] = {RSA_PKCS1_PADDING, RSA_X931_PADDING};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(
            sign_with(subject, subject_key, paddings[i], ours, sizeof(ours)),
            sizeof(ours));
        assert_int_equal(
            sign_with(NULL, oracle_key, paddings[i], theirs, sizeof(theirs)),
            sizeof(theirs));
        assert_memory_equal(ours, theirs, sizeof(ours));
    }
    assert_counted(subject, 3, 0);
}

/* The result of a decryption: its return value, and the output if that is 1. */
typedef struct opened {
    int result;
    size_t length;
    unsigned char text[128];
    unsigned long error;
} opened;

static opened decrypt_with(OSSL_LIB_CTX *libctx, EVP_PKEY *key, int padding,
                           const unsigned char *sealed, size_t length)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    opened out = {0};

    out.length = sizeof(out.text);
    assert_int_equal(EVP_PKEY_decrypt_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, padding), 1);
    ERR_clear_error();
    out.result = EVP_PKEY_decrypt(ctx, out.text, &out.length, sealed, length);
    out.error = ERR_peek_last_error();
    if (out.result != 1) {
        out.length = 0;
        memset(out.text, 0, sizeof(out.text));
    }
    ERR_clear_error();
    EVP_PKEY_CTX_free(ctx);
    return out;
}

static void assert_opens_alike(int padding, const unsigned char *sealed,
                               size_t length)
{
    opened ours = decrypt_with(subject, subject_key, padding, sealed, length);
    opened theirs = decrypt_with(NULL, oracle_key, padding, sealed, length);

    assert_int_equal(ours.result, theirs.result);
    assert_int_equal(ours.length, theirs.length);
    assert_int_equal(ours.error, theirs.error);
    if (ours.result == 1)
        assert_memory_equal(ours.text, theirs.text, ours.length);
}

static void seal(int padding, unsigned char sealed[128])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, oracle_key, NULL);
    size_t length = 128;

    assert_int_equal(EVP_PKEY_encrypt_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, padding), 1);
    assert_int_equal(EVP_PKEY_encrypt(ctx, sealed, &length, support_message,
                                      sizeof(support_message)),
                     1);
    EVP_PKEY_CTX_free(ctx);
}

/* Right and wrong ciphertexts: the result is that of the default provider, also
 * an error or, in 3.2 and later, the invented text of implicit rejection. */
TEST_WITH(decryptions, host_subject_setup, host_subject_teardown, NULL)
{
    static const int paddings[] = {RSA_PKCS1_PADDING, RSA_PKCS1_OAEP_PADDING};
    unsigned char sealed[128];

    for (unsigned i = 0; i < 2; i++) {
        opened out;

        seal(paddings[i], sealed);
        out = decrypt_with(subject, subject_key, paddings[i], sealed,
                           sizeof(sealed));
        assert_int_equal(out.result, 1);
        assert_int_equal(out.length, sizeof(support_message));
        assert_memory_equal(out.text, support_message, out.length);
        for (unsigned spoiled = 1; spoiled < 6; spoiled++) {
            sealed[127 - spoiled] ^= 1;
            assert_opens_alike(paddings[i], sealed, sizeof(sealed));
        }
    }
    assert_counted(subject, 12, 0);
}

/* Numbers without padding: short ones, results with leading zeros, the largest
 * one, and those that are too large. */
TEST_WITH(raw_decryptions, host_subject_setup, host_subject_teardown, NULL)
{
    unsigned char sealed[129] = {0};
    BIGNUM *n = NULL;

    assert_int_equal(
        EVP_PKEY_get_bn_param(oracle_key, OSSL_PKEY_PARAM_RSA_N, &n), 1);
    for (int number = 0; number < 3; number++) {
        sealed[127] = (unsigned char)number;
        assert_opens_alike(RSA_NO_PADDING, sealed, 128);
        assert_opens_alike(RSA_NO_PADDING, sealed + 120, 8);
    }
    assert_counted(subject, 6, 0);
    assert_true(BN_sub_word(n, 1));
    assert_int_equal(BN_bn2binpad(n, sealed, 128), 128);
    assert_opens_alike(RSA_NO_PADDING, sealed, 128);
    assert_counted(subject, 7, 0);
    /* n itself and more: an error, and no operation. */
    assert_true(BN_add_word(n, 1));
    assert_int_equal(BN_bn2binpad(n, sealed, 128), 128);
    assert_opens_alike(RSA_NO_PADDING, sealed, 128);
    assert_opens_alike(RSA_NO_PADDING, sealed, 129);
    assert_counted(subject, 7, 0);
    BN_free(n);
}

static int signs_md4(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                     unsigned char signature[128])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t length = 128;
    int ok =
        EVP_DigestSignInit_ex(ctx, NULL, "MD4", libctx, NULL, key, NULL) == 1 &&
        EVP_DigestSign(ctx, signature, &length, support_message,
                       sizeof(support_message)) == 1;

    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return ok;
}

/* Our signatures can use a digest of the program's legacy provider if and only
 * if the program has loaded that provider. */
TEST_WITH(legacy_digest, host_subject_setup, host_subject_teardown, NULL)
{
    OSSL_LIB_CTX *oracle = OSSL_LIB_CTX_new();
    EVP_PKEY *key = key_in(NULL, oracle_key);
    OSSL_PROVIDER *needed[3] = {OSSL_PROVIDER_load(oracle, "default"),
                                OSSL_PROVIDER_load(oracle, "legacy"), NULL};
    unsigned char ours[128], theirs[128];

    if (needed[1] == NULL) {
        ERR_clear_error();
        print_message("no legacy provider here\n");
    } else {
        assert_false(signs_md4(subject, subject_key, ours));
        needed[2] = OSSL_PROVIDER_load(subject, "legacy");
        assert_non_null(needed[2]);
        assert_true(signs_md4(subject, subject_key, ours));
        assert_true(signs_md4(oracle, key, theirs));
        assert_memory_equal(ours, theirs, sizeof(ours));
        assert_counted(subject, 1, 0);
    }
    for (unsigned i = 0; i < 3; i++)
        if (needed[i] != NULL)
            OSSL_PROVIDER_unload(needed[i]);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(oracle);
}

/* route = cpu: the same results, without a queue. */
TEST_WITH(route_cpu, host_subject_setup, host_subject_teardown,
          "engine = host\nroute = cpu\n")
{
    unsigned char sealed[128];

    for (unsigned i = 0; i < 40;
         i++) /* libcrypto makes a new blinding every 32 uses */
        assert_true(signs_right(subject, subject_key, oracle_key));
    seal(RSA_PKCS1_OAEP_PADDING, sealed);
    assert_opens_alike(RSA_PKCS1_OAEP_PADDING, sealed, 128);
    assert_opens_alike(RSA_PKCS1_PADDING, sealed, 128);
    assert_opens_alike(RSA_NO_PADDING, sealed, 128);
    assert_counted(subject, 0, 43);
    assert_int_equal(counter_of(subject, "warprsa-cpu-route"), 43);
    assert_int_equal(counter_of(subject, "warprsa-keys"), 0);
}

/* route = auto: the operations of a single caller stay on the CPU, and no
 * thread is started. */
TEST_WITH(route_auto_alone, host_subject_setup, host_subject_teardown,
          "engine = host\n")
{
    unsigned threads = count_entries("/proc/self/task");

    assert_true(threads > 0);
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, 0, 1);
    assert_int_equal(counter_of(subject, "warprsa-cpu-route"), 1);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

TEST_WITH(no_engine, host_subject_setup, host_subject_teardown,
          "engine = none\nroute = gpu\n")
{
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_counted(subject, 0, 1);
    assert_int_equal(counter_of(subject, "warprsa-cpu-no-device"), 1);
}

/* There is no descriptor and no thread before the first private operation:
 * after loading their providers, programs fork and close what they don't know.
 */
TEST(nothing_opened_at_load)
{
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    unsigned descriptors = count_descriptors();
    unsigned threads = count_entries("/proc/self/task");
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *copy = key_in(subject, key);
    unsigned char signature[128];

    assert_true(threads > 0 && descriptors > 0);
    assert_int_equal(sign_with(NULL, key, 0, signature, sizeof(signature)),
                     sizeof(signature));
    assert_true(is_right(key, 0, signature, sizeof(signature)));
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(count_entries("/proc/self/task"), threads);
    assert_true(signs_right(subject, copy, key));
    assert_true(count_entries("/proc/self/task") > threads);
    EVP_PKEY_free(copy);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
    assert_int_equal(count_descriptors(), descriptors);
    /* The kernel shows a thread for a moment after it was joined. */
    for (int i = 0; i < 10000 && count_entries("/proc/self/task") != threads;
         i++)
        usleep(1000);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

static void status_of(OSSL_LIB_CTX *subject, char text[512])
{
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(subject, "warprsa");
    OSSL_PARAM request[] = {
        OSSL_PARAM_construct_utf8_string("warprsa-status", text, 512),
        OSSL_PARAM_construct_end()};

    assert_int_equal(OSSL_PROVIDER_get_params(provider, request), 1);
    OSSL_PROVIDER_unload(provider);
}

/* The line that answers "Am I really using the GPU?". */
TEST_WITH(status_line, host_subject_setup, host_subject_teardown, NULL)
{
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(subject, "warprsa");
    EVP_PKEY *bare = without_crt(oracle_key);
    EVP_PKEY *unsupported = key_from_numbers(
        subject, NULL, bare, EVP_PKEY_KEYPAIR, EVP_PKEY_KEYPAIR);
    char text[512];

    for (const OSSL_PARAM *known = OSSL_PROVIDER_gettable_params(provider);
         known->key != NULL; known++) {
        char buffer[2048];
        OSSL_PARAM request[] = {*known, OSSL_PARAM_construct_end()};

        request[0].data = buffer;
        request[0].data_size =
            known->data_type == OSSL_PARAM_UTF8_STRING ? sizeof(buffer) : 8;
        assert_int_equal(OSSL_PROVIDER_get_params(provider, request), 1);
        assert_true(OSSL_PARAM_modified(request));
    }
    status_of(subject, text);
    assert_string_equal(text, "no private operation yet");
    assert_true(signs_right(subject, subject_key, oracle_key));
    assert_true(signs_right(subject, unsupported, bare));
    status_of(subject, text);
    assert_non_null(strstr(text, ": 1 operations on the device, 1 on the CPU, "
                                 "unsupported-key 1"));
    EVP_PKEY_free(unsupported);
    EVP_PKEY_free(bare);
    OSSL_PROVIDER_unload(provider);
}

/* A key from import to its end, when every copy is wiped. Two keys with the
 * same numbers are one key to the queue. */
TEST(keys_wiped)
{
    module_context module;
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *one = NULL, *two = NULL;

    assert_int_equal(module_context_open(&module, "host", ""), 1);
    one = key_in(module.libctx, key);
    two = key_in(module.libctx, key);
    assert_true(signs_right(module.libctx, one, key));
    assert_true(signs_right(module.libctx, two, key));
    assert_int_equal(counter_of(module.libctx, "warprsa-keys"), 1);
    EVP_PKEY_free(one);
    EVP_PKEY_free(two);
    assert_int_equal(module_context_close(&module), 1);
    assert_int_equal(module_context_counter(&module, "gpu"), 2);
    assert_int_equal(module_context_counter(&module, "cpu"), 0);
    assert_int_equal(module_context_counter(&module, "keys"), 0);
    assert_int_equal(module_context_counter(&module, "keys_loaded"), 1);
    assert_int_equal(module_context_counter(&module, "keys_wiped"), 1);
    unsetenv("WARPRSA_TRACE");
    EVP_PKEY_free(key);
}

/* As nginx imports a certificate's key for each connection: it is loaded once,
 * found by the digest of its numbers, and wiped with the last of them. */
TEST(the_same_key_a_thousand_times)
{
    enum {
        TIMES = 1000
    };
    static EVP_PKEY *held[TIMES];
    module_context module;
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);

    assert_int_equal(module_context_open(&module, "host", ""), 1);
    for (unsigned i = 0; i < TIMES; i++) {
        held[i] = key_in(module.libctx, key);
        assert_true(signs_right(module.libctx, held[i], key));
        assert_int_equal(counter_of(module.libctx, "warprsa-keys"), 1);
    }
    for (unsigned i = 0; i < TIMES; i++)
        EVP_PKEY_free(held[i]);
    assert_int_equal(counter_of(module.libctx, "warprsa-keys"), 0);
    assert_int_equal(module_context_close(&module), 1);
    assert_int_equal(module_context_counter(&module, "gpu"), TIMES);
    assert_int_equal(module_context_counter(&module, "cpu"), 0);
    assert_int_equal(module_context_counter(&module, "keys_loaded"), 1);
    assert_int_equal(module_context_counter(&module, "keys_wiped"), 1);
    unsetenv("WARPRSA_TRACE");
    EVP_PKEY_free(key);
}

RUN_TESTS(NULL, NULL)
