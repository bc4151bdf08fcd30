/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Removing paddings from what an engine has decrypted: the messages, the
 * refusals and the errors of libcrypto's default provider, for right and wrong
 * ciphertexts.
 */
#include "tests/unit/support/unit_test.h"

#include <pthread.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "tests/unit/vault/padding_keys.h"

enum {
    BYTES_MAX = WARPRSA_VAULT_MODULUS_BYTES_MAX,
    TLS_1_2 = 0x0303,
    TLS_1_0 = 0x0301,
};

static padding_subject small, odd, usual, three_primes, large, largest;
static padding_subject *const all[] = {&small,        &odd,   &usual,
                                       &three_primes, &large, &largest};

enum {
    SUBJECTS = sizeof(all) / sizeof(all[0]),
    QUICK = SUBJECTS - 1, /* the first ones; the last takes long */
};

static int setup(void **state)
{
    subject_new(&small, "1024", 1024, 2);
    subject_new(&odd, "1025", 1025, 2);
    subject_new(&usual, "2048", 2048, 2);
    subject_new(&three_primes, "2048 of three primes", 2048, 3);
    subject_new(&large, "3072", 3072, 2);
    subject_new_largest(&largest, "16377");
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < SUBJECTS; i++)
        subject_free(all[i]);
    return 0;
}

static int padding_number(const warprsa_key_use *use)
{
    switch (use->padding) {
    case WARPRSA_PADDING_OAEP:
        return RSA_PKCS1_OAEP_PADDING;
    case WARPRSA_PADDING_TLS:
        return RSA_PKCS1_WITH_TLS_PADDING;
    case WARPRSA_PADDING_PKCS1:
        return RSA_PKCS1_PADDING;
    default:
        return RSA_NO_PADDING;
    }
}

/* A context of the default provider that encrypts or decrypts so. */
static EVP_PKEY_CTX *oracle_context(EVP_PKEY *key, const warprsa_key_use *use,
                                    bool encrypt)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int padding = padding_number(use);
    unsigned client = use->tls_client_version;
    unsigned alternative = use->tls_alternative_version;
    OSSL_PARAM params[6], *next = params;

    *next++ =
        OSSL_PARAM_construct_int(OSSL_ASYM_CIPHER_PARAM_PAD_MODE, &padding);
    if (use->padding == WARPRSA_PADDING_OAEP) {
        *next++ = OSSL_PARAM_construct_utf8_string(
            OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST,
            (char *)warprsa_use_digest_name(use->digest), 0);
        *next++ = OSSL_PARAM_construct_utf8_string(
            OSSL_ASYM_CIPHER_PARAM_MGF1_DIGEST,
            (char *)warprsa_use_digest_name(use->mgf1_digest), 0);
        *next++ = OSSL_PARAM_construct_octet_string(
            OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, (void *)use->label,
            use->label_bytes);
    } else if (use->padding == WARPRSA_PADDING_TLS) {
        *next++ = OSSL_PARAM_construct_uint(
            OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, &client);
        *next++ = OSSL_PARAM_construct_uint(
            OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, &alternative);
    }
    *next = OSSL_PARAM_construct_end();
    assert_int_equal(encrypt ? EVP_PKEY_encrypt_init_ex(ctx, params)
                             : EVP_PKEY_decrypt_init_ex(ctx, params),
                     1);
    return ctx;
}

static bool oracle_encrypts(const padding_subject *subject,
                            const warprsa_key_use *use, const uint8_t *message,
                            size_t length, uint8_t *ciphertext)
{
    EVP_PKEY_CTX *ctx = oracle_context(subject->oracle, use, true);
    size_t size = subject->bytes;
    const bool ok =
        EVP_PKEY_encrypt(ctx, ciphertext, &size, message, length) == 1;

    ERR_clear_error();
    EVP_PKEY_CTX_free(ctx);
    return ok;
}

typedef struct outcome {
    bool ok;
    unsigned length;
    uint8_t message[BYTES_MAX];
    warprsa_use_errors errors;
} outcome;

/* Decrypts as the default provider does. */
static void by_oracle(const padding_subject *subject,
                      const warprsa_key_use *use, const uint8_t *ciphertext,
                      outcome *to)
{
    EVP_PKEY_CTX *ctx = oracle_context(subject->oracle, use, false);
    size_t size = sizeof(to->message);

    memset(to, 0, sizeof(*to));
    to->ok = EVP_PKEY_decrypt(ctx, to->message, &size, ciphertext,
                              subject->bytes) == 1;
    oracle_errors(&to->errors);
    if (to->ok)
        to->length = (unsigned)size;
    EVP_PKEY_CTX_free(ctx);
}

/* Decrypts as the daemon does with an engine. */
static void by_engine(const padding_subject *subject,
                      const warprsa_key_use *use, const uint8_t *ciphertext,
                      outcome *to)
{
    uint8_t number[BYTES_MAX], power[BYTES_MAX];

    memset(to, 0, sizeof(*to));
    assert_null(warprsa_key_use_fault(use, subject->bytes));
    if (!warprsa_padding_encode(subject->key, use, ciphertext, number,
                                &to->errors))
        return;
    subject_power(subject, subject->d, number, power);
    to->ok = warprsa_padding_finish(subject->key, use, number, power,
                                    to->message, &to->length, &to->errors);
    assert_int_equal(ERR_peek_error(), 0);
}

static void by_libcrypto(const padding_subject *subject,
                         const warprsa_key_use *use, const uint8_t *ciphertext,
                         outcome *to)
{
    memset(to, 0, sizeof(*to));
    to->ok = warprsa_padding_compute(subject->key, use, ciphertext, to->message,
                                     &to->length, &to->errors);
}

/* A message that a failure leaves in the oracle's buffer is its own affair. */
static void assert_same(const outcome *got, const outcome *expected)
{
    assert_int_equal(got->ok, expected->ok);
    assert_int_equal(got->length, expected->length);
    assert_memory_equal(got->message, expected->message, expected->length);
    assert_memory_equal(&got->errors, &expected->errors, sizeof(got->errors));
    if (got->ok)
        return;
    for (unsigned i = 0; i < BYTES_MAX; i++)
        assert_int_equal(got->message[i], 0);
}

static outcome expected, got;

/* All three ways have the same outcome. Returns whether it is a message. */
static bool same(const padding_subject *subject, const warprsa_key_use *use,
                 const uint8_t *ciphertext)
{
    by_oracle(subject, use, ciphertext, &expected);
    by_engine(subject, use, ciphertext, &got);
    assert_same(&got, &expected);
    by_libcrypto(subject, use, ciphertext, &got);
    assert_same(&got, &expected);
    return got.ok;
}

static bool is_message(const uint8_t *message, size_t length)
{
    return got.ok && got.length == length &&
           memcmp(got.message, message, length) == 0;
}

/* ---- OAEP ---- */

static warprsa_key_use oaep_use(const padding_subject *subject, unsigned digest,
                                unsigned mgf1_digest, unsigned label_bytes)
{
    warprsa_key_use use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_OAEP, subject->bytes);

    use.digest = (uint8_t)digest;
    use.mgf1_digest = (uint8_t)mgf1_digest;
    use.label_bytes = (uint16_t)label_bytes;
    RAND_bytes(use.label, (int)label_bytes);
    return use;
}

/* Messages without a byte and as long as can be, wrong labels, and ciphertexts
 * with a wrong bit. False: the key is too small for the digest. */
static bool oaep(const padding_subject *subject, warprsa_key_use *use)
{
    const int most = (int)subject->bytes - 2 -
                     2 * (int)warprsa_use_digest_bytes(use->digest);
    uint8_t message[BYTES_MAX], ciphertext[BYTES_MAX];

    RAND_bytes(message, sizeof(message));
    if (most < 0)
        return false;
    for (int length = 0; length <= most; length += most == 0 ? 1 : most) {
        assert_true(
            oracle_encrypts(subject, use, message, (size_t)length, ciphertext));
        assert_true(same(subject, use, ciphertext));
        assert_true(is_message(message, (size_t)length));
        use->label[0] ^= 1;
        use->label_bytes ^= use->label_bytes == 0;
        assert_false(same(subject, use, ciphertext));
        use->label_bytes ^= use->label_bytes == 1;
        use->label[0] ^= 1;
        ciphertext[subject->bytes - 1] ^= 1;
        assert_false(same(subject, use, ciphertext));
    }
    return true;
}

TEST(oaep_of_each_digest)
{
    static const unsigned label_bytes[] = {0, 2, WARPRSA_USE_LABEL_BYTES_MAX};
    unsigned refused = 0;

    for (unsigned digest = WARPRSA_DIGEST_MD5; digest < WARPRSA_USE_DIGESTS;
         digest++)
        for (unsigned mgf1 = WARPRSA_DIGEST_MD5; mgf1 < WARPRSA_USE_DIGESTS;
             mgf1++) {
            warprsa_key_use use =
                oaep_use(&small, digest, mgf1, label_bytes[mgf1 % 3]);

            refused += !oaep(&small, &use);
        }
    /* 128 bytes have no room for two hashes of 64. */
    assert_int_equal(refused, 3 * (WARPRSA_USE_DIGESTS - 1));
    for (int i = 1; i < QUICK; i++) {
        warprsa_key_use use =
            oaep_use(all[i], WARPRSA_DIGEST_SHA512, WARPRSA_DIGEST_SHA1, 5);

        assert_int_equal(oaep(all[i], &use), all[i] != &odd);
    }
}

/* ---- PKCS #1 v1.5 and TLS: messages with each byte as we like ---- */

/* 00 02, bytes that are not 0, 00, the message. */
static void pad(const padding_subject *subject, const uint8_t *message,
                unsigned length, uint8_t *padded)
{
    const unsigned begin = subject->bytes - length;

    RAND_bytes(padded, (int)subject->bytes);
    padded[0] = 0;
    padded[1] = 2;
    for (unsigned i = 2; i < begin - 1; i++)
        padded[i] |= 1;
    padded[begin - 1] = 0;
    memcpy(padded + begin, message, length);
}

static void encrypt_number(const padding_subject *subject,
                           const uint8_t *number, uint8_t *ciphertext)
{
    BIGNUM *e = NULL;

    assert_true(
        EVP_PKEY_get_bn_param(subject->oracle, OSSL_PKEY_PARAM_RSA_E, &e));
    subject_power(subject, e, number, ciphertext);
    BN_free(e);
}

/* Ways in which a padded message can be wrong, and some in which it is not. */
typedef struct change {
    const char *what;
    void (*make)(uint8_t *padded, unsigned bytes, unsigned length);
} change;

static void change_nothing(uint8_t *padded, unsigned bytes, unsigned length)
{
    (void)padded, (void)bytes, (void)length;
}

static void change_first(uint8_t *padded, unsigned bytes, unsigned length)
{
    (void)bytes, (void)length;
    padded[0] = 1; /* the modulus of 1025 bits has no larger first byte */
    padded[1] = 0;
}

static void change_type(uint8_t *padded, unsigned bytes, unsigned length)
{
    (void)bytes, (void)length;
    padded[1] = 1;
}

static void change_type_to_zero(uint8_t *padded, unsigned bytes,
                                unsigned length)
{
    (void)bytes, (void)length;
    padded[1] = 0;
}

static void change_short_padding(uint8_t *padded, unsigned bytes,
                                 unsigned length)
{
    (void)bytes, (void)length;
    padded[9] = 0;
}

static void change_shortest_padding(uint8_t *padded, unsigned bytes,
                                    unsigned length)
{
    (void)bytes, (void)length;
    padded[10] = 0;
}

static void change_no_separator(uint8_t *padded, unsigned bytes,
                                unsigned length)
{
    for (unsigned i = 2; i < bytes; i++)
        padded[i] |= 1;
    (void)length;
}

static void change_late_separator(uint8_t *padded, unsigned bytes,
                                  unsigned length)
{
    change_no_separator(padded, bytes, length);
    padded[bytes - 1] = 0; /* an empty message */
}

static void change_one_shorter(uint8_t *padded, unsigned bytes, unsigned length)
{
    padded[bytes - length - 1] = 1;
    padded[bytes - length] = 0;
}

static void change_to_zero(uint8_t *padded, unsigned bytes, unsigned length)
{
    (void)length;
    memset(padded, 0, bytes);
}

static void change_to_one(uint8_t *padded, unsigned bytes, unsigned length)
{
    change_to_zero(padded, bytes, length);
    padded[bytes - 1] = 1;
}

/* Zeros for more than a word of BIGNUM. */
static void change_to_small(uint8_t *padded, unsigned bytes, unsigned length)
{
    (void)length;
    memset(padded, 0, bytes / 2);
}

static const change changes[] = {
    {"nothing", change_nothing},
    {"shortest padding", change_shortest_padding},
    {"late separator", change_late_separator},
    {"one shorter", change_one_shorter},
    {"first", change_first},
    {"type", change_type},
    {"type zero", change_type_to_zero},
    {"short padding", change_short_padding},
    {"no separator", change_no_separator},
    {"zero", change_to_zero},
    {"one", change_to_one},
    {"small", change_to_small},
};

enum {
    CHANGES = sizeof(changes) / sizeof(changes[0]),
};

static void pkcs1(const padding_subject *subject, unsigned length)
{
    const warprsa_key_use use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PKCS1, subject->bytes);
    uint8_t message[BYTES_MAX], padded[BYTES_MAX], ciphertext[BYTES_MAX];

    RAND_bytes(message, sizeof(message));
    for (int i = 0; i < CHANGES; i++) {
        if (length == 0 && changes[i].make == change_one_shorter)
            continue;
        pad(subject, message, length, padded);
        changes[i].make(padded, subject->bytes, length);
        encrypt_number(subject, padded, ciphertext);
        (void)same(subject, &use, ciphertext);
        if (i == 0)
            assert_true(is_message(message, length));
    }
}

TEST(pkcs1_right_and_wrong)
{
    for (int i = 0; i < QUICK; i++) {
        const unsigned lengths[] = {0, 1, 48, all[i]->bytes - 11};

        for (int j = 0; j < 4; j++)
            pkcs1(all[i], lengths[j]);
    }
}

/* Ciphertexts that nobody made. */
TEST(random_ciphertexts)
{
    for (int i = 0; i < QUICK; i++)
        for (int j = 0; j < 20; j++) {
            const unsigned bytes = all[i]->bytes;
            warprsa_key_use use =
                use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PKCS1, bytes);
            uint8_t ciphertext[BYTES_MAX];

            RAND_bytes(ciphertext, (int)bytes);
            ciphertext[0] = 0;
            (void)same(all[i], &use, ciphertext);
            use = oaep_use(all[i], WARPRSA_DIGEST_SHA1, WARPRSA_DIGEST_SHA1, 0);
            assert_false(same(all[i], &use, ciphertext));
            use = use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_NONE, bytes);
            assert_true(same(all[i], &use, ciphertext));
        }
}

/* Not below the modulus: each padding has its errors. */
TEST(too_large_ciphertexts)
{
    for (int i = 0; i < QUICK; i++)
        for (unsigned padding = WARPRSA_PADDING_NONE;
             padding < WARPRSA_USE_PADDINGS; padding++) {
            warprsa_key_use use =
                use_of(WARPRSA_USE_DECRYPT, padding, all[i]->bytes);
            uint8_t ciphertext[BYTES_MAX];

            if (padding == WARPRSA_PADDING_PSS)
                continue;
            if (padding == WARPRSA_PADDING_OAEP)
                use = oaep_use(all[i], WARPRSA_DIGEST_SHA1, WARPRSA_DIGEST_SHA1,
                               0);
            if (padding == WARPRSA_PADDING_TLS)
                use.tls_client_version = TLS_1_2;
            memset(ciphertext, 0xff, sizeof(ciphertext));
            assert_false(same(all[i], &use, ciphertext));
            memcpy(ciphertext, all[i]->key->n, all[i]->bytes);
            assert_false(same(all[i], &use, ciphertext));
        }
}

/* ---- TLS ---- */

static warprsa_key_use tls_use(const padding_subject *subject, unsigned client,
                               unsigned alternative)
{
    warprsa_key_use use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_TLS, subject->bytes);

    use.tls_client_version = (uint16_t)client;
    use.tls_alternative_version = (uint16_t)alternative;
    return use;
}

/* What is no pre-master secret of the version becomes a random one, by the
 * default provider and by both of our ways, and each time another. */
static void assert_random_secret(const padding_subject *subject,
                                 const warprsa_key_use *use,
                                 const uint8_t *ciphertext,
                                 const uint8_t *secret)
{
    outcome first;

    by_oracle(subject, use, ciphertext, &expected);
    assert_true(expected.ok);
    assert_int_equal(expected.length, WARPRSA_TLS_SECRET_BYTES);
    for (int i = 0; i < 2; i++) {
        (i == 0 ? by_engine : by_libcrypto)(subject, use, ciphertext, &first);
        (i == 0 ? by_engine : by_libcrypto)(subject, use, ciphertext, &got);
        assert_true(first.ok && got.ok);
        assert_int_equal(got.length, WARPRSA_TLS_SECRET_BYTES);
        assert_memory_not_equal(got.message, first.message, got.length);
        assert_memory_not_equal(got.message, secret, got.length);
        assert_memory_not_equal(got.message, expected.message, got.length);
    }
}

TEST(tls_versions)
{
    static const struct {
        unsigned sent, client, alternative;
        bool right;
    } cases[] = {
        {TLS_1_2, TLS_1_2, 0, true},
        {TLS_1_0, TLS_1_2, TLS_1_0, true},
        {TLS_1_2, TLS_1_2, TLS_1_0, true},
        {TLS_1_0, TLS_1_2, 0, false},
        {0x0302, TLS_1_2, TLS_1_0, false},
        {0x0203, TLS_1_2, 0, false},
        {0, TLS_1_2, 0, false},
    };

    for (int i = 0; i < QUICK; i++)
        for (size_t j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
            const warprsa_key_use use =
                tls_use(all[i], cases[j].client, cases[j].alternative);
            uint8_t secret[WARPRSA_TLS_SECRET_BYTES];
            uint8_t padded[BYTES_MAX], ciphertext[BYTES_MAX];

            RAND_bytes(secret, sizeof(secret));
            secret[0] = (uint8_t)(cases[j].sent >> 8);
            secret[1] = (uint8_t)cases[j].sent;
            pad(all[i], secret, sizeof(secret), padded);
            encrypt_number(all[i], padded, ciphertext);
            if (cases[j].right) {
                assert_true(same(all[i], &use, ciphertext));
                assert_true(is_message(secret, sizeof(secret)));
            } else {
                assert_random_secret(all[i], &use, ciphertext, secret);
            }
        }
}

TEST(tls_wrong_paddings)
{
    for (int i = 0; i < QUICK; i++)
        for (int j = 1; j < CHANGES; j++) {
            const warprsa_key_use use = tls_use(all[i], TLS_1_2, 0);
            uint8_t secret[WARPRSA_TLS_SECRET_BYTES];
            uint8_t padded[BYTES_MAX], ciphertext[BYTES_MAX];

            RAND_bytes(secret, sizeof(secret));
            secret[0] = TLS_1_2 >> 8;
            secret[1] = TLS_1_2 & 0xff;
            pad(all[i], secret, sizeof(secret), padded);
            changes[j].make(padded, all[i]->bytes, sizeof(secret));
            encrypt_number(all[i], padded, ciphertext);
            assert_random_secret(all[i], &use, ciphertext, secret);
        }
}

/* One byte more or less than a secret, with the version where it would be. */
TEST(tls_wrong_lengths)
{
    for (unsigned length = 47; length <= 49; length += 2) {
        const warprsa_key_use use = tls_use(&usual, TLS_1_2, 0);
        uint8_t secret[49], padded[BYTES_MAX], ciphertext[BYTES_MAX];

        RAND_bytes(secret, sizeof(secret));
        memset(secret, 3, 3);
        pad(&usual, secret, length, padded);
        encrypt_number(&usual, padded, ciphertext);
        assert_random_secret(&usual, &use, ciphertext, secret);
    }
}

/* libcrypto's cipher refuses to work without a version. */
TEST(tls_without_a_version)
{
    const warprsa_key_use use = tls_use(&usual, 0, 0);
    uint8_t ciphertext[BYTES_MAX] = {0};

    ciphertext[usual.bytes - 1] = 3;
    assert_false(same(&usual, &use, ciphertext));
    assert_int_not_equal(got.errors.codes[0], 0);
}

/* ---- the largest key, and many threads ---- */

TEST(largest_key)
{
    warprsa_key_use use =
        oaep_use(&largest, WARPRSA_DIGEST_SHA256, WARPRSA_DIGEST_SHA256, 9);
    uint8_t message[BYTES_MAX], ciphertext[BYTES_MAX];

    RAND_bytes(message, sizeof(message));
    assert_true(oracle_encrypts(&largest, &use, message, 100, ciphertext));
    assert_true(same(&largest, &use, ciphertext));
    assert_true(is_message(message, 100));
    use = use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PKCS1, largest.bytes);
    assert_true(oracle_encrypts(&largest, &use, message, largest.bytes - 11,
                                ciphertext));
    assert_true(same(&largest, &use, ciphertext));
    assert_true(is_message(message, largest.bytes - 11));
    ciphertext[largest.bytes - 1] ^= 1;
    (void)same(&largest, &use, ciphertext);
}

enum {
    THREADS = 4,
    ROUNDS = 2000,
};

/* Finishes a decryption of its own again and again, and others that fail. */
static void *finish_many(void *arg)
{
    const unsigned *number_of_thread = arg;
    const warprsa_key_use use = use_of(
        WARPRSA_USE_DECRYPT,
        *number_of_thread % 2 ? WARPRSA_PADDING_PKCS1 : WARPRSA_PADDING_TLS,
        usual.bytes);
    warprsa_key_use versioned = use;
    uint8_t secret[WARPRSA_TLS_SECRET_BYTES], padded[BYTES_MAX];
    uint8_t ciphertext[BYTES_MAX], answer[BYTES_MAX];
    uintptr_t wrong = 0;

    if (use.padding == WARPRSA_PADDING_TLS)
        versioned.tls_client_version = TLS_1_2;
    memset(secret, 3, sizeof(secret));
    secret[40] = (uint8_t)*number_of_thread;
    pad(&usual, secret, sizeof(secret), padded);
    encrypt_number(&usual, padded, ciphertext);
    for (int i = 0; i < ROUNDS; i++) {
        unsigned length = 0;
        warprsa_use_errors errors;

        /* The number that padding is removed from is the exponentiation's
         * outcome, which pad() has made. */
        wrong += !warprsa_padding_finish(usual.key, &versioned, ciphertext,
                                         padded, answer, &length, &errors) ||
                 length != sizeof(secret) ||
                 memcmp(answer, secret, length) != 0;
    }
    return (void *)wrong;
}

TEST(threads_share_a_key)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(
            pthread_create(&threads[i], NULL, finish_many, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong = NULL;

        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

/* Without an outcome that it was told, the object computes nothing. */
TEST(nothing_is_told)
{
    uint8_t ciphertext[BYTES_MAX] = {0}, message[BYTES_MAX];

    ciphertext[usual.bytes - 1] = 3;
    assert_int_equal(RSA_private_decrypt((int)usual.bytes, ciphertext, message,
                                         usual.key->told, RSA_NO_PADDING),
                     -1);
    assert_int_equal(RSA_private_decrypt((int)usual.bytes, ciphertext, message,
                                         usual.key->told, RSA_PKCS1_PADDING),
                     -1);
    ERR_clear_error();
}

/* A public key is none for the vault, nor is one of another kind. */
TEST(other_keys_are_refused)
{
    EVP_PKEY *elliptic = EVP_EC_gen("P-256");
    EVP_PKEY *public = NULL;
    unsigned char *der = NULL;
    const int length = i2d_PUBKEY(usual.oracle, &der);
    const unsigned char *at = der;

    assert_true(length > 0);
    public = d2i_PUBKEY(NULL, &at, length);
    assert_non_null(public);
    assert_null(warprsa_padding_key_new(subject_library(), public));
    assert_null(warprsa_padding_key_new(subject_library(), elliptic));
    assert_int_equal(ERR_peek_error(), 0);
    OPENSSL_free(der);
    EVP_PKEY_free(public);
    EVP_PKEY_free(elliptic);
}

/* Somebody else's answer without a padding is checked by the public key, which
 * also finds that a number is too large, with the errors of the private one.
 * Answers whose padding was removed are never right. */
TEST(answers_are_checked_by_the_public_key)
{
    for (int i = 0; i < SUBJECTS; i++) {
        const unsigned bytes = all[i]->bytes;
        warprsa_padding_key *public =
            warprsa_padding_key_new_public(subject_library(), all[i]->oracle);
        warprsa_key_use use =
            use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_NONE, bytes);
        warprsa_use_errors errors, expected;
        uint8_t ciphertext[BYTES_MAX], number[BYTES_MAX], power[BYTES_MAX];

        assert_non_null(public);
        RAND_bytes(ciphertext, (int)bytes);
        ciphertext[0] = 0;
        subject_power(all[i], all[i]->d, ciphertext, power);
        assert_true(
            warprsa_padding_encode(public, &use, ciphertext, number, &errors));
        assert_memory_equal(number, ciphertext, bytes);
        assert_true(warprsa_padding_verify(public, &use, ciphertext, power));
        use.padding = WARPRSA_PADDING_PKCS1;
        assert_false(warprsa_padding_verify(public, &use, ciphertext, power));
        use.padding = WARPRSA_PADDING_NONE;
        power[bytes - 1] ^= 1;
        assert_false(warprsa_padding_verify(public, &use, ciphertext, power));
        memset(ciphertext, 0xff, sizeof(ciphertext));
        assert_false(warprsa_padding_encode(all[i]->key, &use, ciphertext,
                                            number, &expected));
        assert_false(
            warprsa_padding_encode(public, &use, ciphertext, number, &errors));
        assert_int_not_equal(errors.codes[0], 0);
        assert_memory_equal(&errors, &expected, sizeof(errors));
        warprsa_padding_key_free(public);
    }
}

RUN_TESTS(setup, teardown)
