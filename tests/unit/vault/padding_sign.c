/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signatures with paddings of the vault. libcrypto's default provider verifies
 * them, makes the same ones where there is no salt, and refuses what is refused
 * here with the same errors.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/proverr.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include "tests/unit/vault/padding_keys.h"

enum {
    BYTES_MAX = WARPRSA_VAULT_MODULUS_BYTES_MAX,
};

static padding_subject small, odd, usual, three_primes, large, largest;
static padding_subject *const ordinary[] = {&small,        &odd,   &usual,
                                            &three_primes, &large, &largest};

enum {
    ORDINARY = sizeof(ordinary) / sizeof(ordinary[0]),
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
    for (int i = 0; i < ORDINARY; i++)
        subject_free(ordinary[i]);
    return 0;
}

static const char *name_of(unsigned digest)
{
    return warprsa_use_digest_name(digest);
}

/* A context of the default provider for a signature like this. Only uses whose
 * settings it takes get one. */
static EVP_PKEY_CTX *oracle_context(EVP_PKEY *key, const warprsa_key_use *use,
                                    bool verify, int salt_bytes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    int padding = use->padding == WARPRSA_PADDING_PSS ? RSA_PKCS1_PSS_PADDING
                                                      : RSA_PKCS1_PADDING;
    OSSL_PARAM params[5], *next = params;

    if (use->padding == WARPRSA_PADDING_NONE)
        padding = RSA_NO_PADDING;
    if (use->digest != WARPRSA_DIGEST_NONE)
        *next++ = OSSL_PARAM_construct_utf8_string(
            OSSL_SIGNATURE_PARAM_DIGEST, (char *)name_of(use->digest), 0);
    *next++ = OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PAD_MODE, &padding);
    if (use->padding == WARPRSA_PADDING_PSS) {
        *next++ = OSSL_PARAM_construct_utf8_string(
            OSSL_SIGNATURE_PARAM_MGF1_DIGEST, (char *)name_of(use->mgf1_digest),
            0);
        *next++ = OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PSS_SALTLEN,
                                           &salt_bytes);
    }
    *next = OSSL_PARAM_construct_end();
    if ((verify ? EVP_PKEY_verify_init_ex(ctx, params)
                : EVP_PKEY_sign_init_ex(ctx, params)) == 1)
        return ctx;
    EVP_PKEY_CTX_free(ctx);
    return NULL;
}

/* Signs as the daemon does with an engine. */
static bool sign(const padding_subject *subject, const warprsa_key_use *use,
                 const uint8_t *input, uint8_t *signature,
                 warprsa_use_errors *errors)
{
    uint8_t number[BYTES_MAX], power[BYTES_MAX];
    unsigned length = 0;

    assert_null(warprsa_key_use_fault(use, subject->bytes));
    if (!warprsa_padding_encode(subject->key, use, input, number, errors))
        return false;
    assert_int_equal(errors->codes[0], 0);
    subject_power(subject, subject->d, number, power);
    assert_true(warprsa_padding_is_quick(use));
    assert_true(warprsa_padding_finish(subject->key, use, number, power,
                                       signature, &length, errors));
    assert_int_equal(length, subject->bytes);
    assert_int_equal(ERR_peek_error(), 0);
    return true;
}

/* The client's own libcrypto adds the last error to those of RSA's functions,
 * but for PSS, which is no padding that RSA_METHOD knows. */
static void assert_same_errors(const warprsa_key_use *use,
                               const warprsa_use_errors *errors)
{
    const uint32_t last = ERR_PACK(ERR_LIB_PROV, 0, ERR_R_RSA_LIB);
    warprsa_use_errors expected;

    oracle_errors(&expected);
    if (use->padding != WARPRSA_PADDING_PSS) {
        assert_int_equal(expected.codes[1], last);
        expected.codes[1] = 0;
    }
    assert_int_not_equal(expected.codes[0], 0);
    assert_memory_equal(errors, &expected, sizeof(expected));
}

/* Without a salt the signatures are the same, and so are the errors. */
static void same_as_oracle(const padding_subject *subject,
                           const warprsa_key_use *use, const uint8_t *input,
                           const uint8_t *hash, size_t hash_bytes)
{
    EVP_PKEY_CTX *ctx = oracle_context(subject->oracle, use, false, 0);
    uint8_t expected[BYTES_MAX], got[BYTES_MAX], computed[BYTES_MAX];
    size_t size = sizeof(expected);
    unsigned length = 0;
    warprsa_use_errors errors, computed_errors;
    int signed_ = 0;
    bool ok = false;

    assert_non_null(ctx);
    ok = sign(subject, use, input, got, &errors);
    assert_int_equal(ok,
                     warprsa_padding_compute(subject->key, use, input, computed,
                                             &length, &computed_errors));
    assert_memory_equal(&errors, &computed_errors, sizeof(errors));
    ERR_clear_error();
    signed_ = EVP_PKEY_sign(ctx, expected, &size, hash, hash_bytes);
    assert_int_equal(ok, signed_ == 1);
    if (ok) {
        assert_int_equal(size, subject->bytes);
        assert_memory_equal(got, expected, size);
        assert_int_equal(length, size);
        assert_memory_equal(computed, expected, size);
    } else {
        assert_same_errors(use, &errors);
    }
    EVP_PKEY_CTX_free(ctx);
}

/* The DigestInfo of a hash, as RSA_METHOD.priv_enc() would get it. */
static unsigned digest_info(unsigned digest, const uint8_t *hash, uint8_t *out)
{
    const warprsa_padding_digest *of = &subject_library()->digests[digest];

    memcpy(out, of->info, of->info_bytes);
    memcpy(out + of->info_bytes, hash, warprsa_use_digest_bytes(digest));
    return (unsigned)of->info_bytes + warprsa_use_digest_bytes(digest);
}

TEST(pkcs1_of_each_digest)
{
    for (int i = 0; i < ORDINARY; i++)
        for (unsigned digest = WARPRSA_DIGEST_MD5;
             digest <= WARPRSA_DIGEST_SHA3_512; digest++) {
            uint8_t hash[64], input[128];
            warprsa_key_use use =
                use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 0);

            if (ordinary[i] == &largest && digest != WARPRSA_DIGEST_SHA256)
                continue; /* it takes long, and its size is all that differs */
            RAND_bytes(hash, sizeof(hash));
            use.digest = (uint8_t)digest;
            use.input_bytes = (uint16_t)digest_info(digest, hash, input);
            same_as_oracle(ordinary[i], &use, input, hash,
                           warprsa_use_digest_bytes(digest));
        }
}

/* With no digest anything is signed that has room. */
TEST(pkcs1_of_any_bytes)
{
    uint8_t input[BYTES_MAX];

    RAND_bytes(input, sizeof(input));
    for (int i = 0; i < 5; i++) {
        const unsigned most = ordinary[i]->bytes - RSA_PKCS1_PADDING_SIZE;
        const unsigned lengths[] = {0, 1, 36, most, most + 1, most + 11};

        for (int j = 0; j < 6; j++) {
            warprsa_key_use use =
                use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, lengths[j]);

            same_as_oracle(ordinary[i], &use, input, input, lengths[j]);
        }
    }
}

TEST(numbers_are_signed_as_they_are)
{
    for (int i = 0; i < 5; i++) {
        const unsigned bytes = ordinary[i]->bytes;
        warprsa_key_use use =
            use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_NONE, bytes);
        uint8_t number[BYTES_MAX] = {0};

        same_as_oracle(ordinary[i], &use, number, number, bytes); /* 0 */
        number[bytes - 1] = 1;
        same_as_oracle(ordinary[i], &use, number, number, bytes);
        RAND_bytes(number + 1, (int)bytes - 1);
        same_as_oracle(ordinary[i], &use, number, number, bytes);
        /* n - 1, n, and the largest number of this length. */
        memcpy(number, ordinary[i]->key->n, bytes);
        number[bytes - 1] &= 0xfe;
        same_as_oracle(ordinary[i], &use, number, number, bytes);
        number[bytes - 1] |= 1;
        same_as_oracle(ordinary[i], &use, number, number, bytes);
        memset(number, 0xff, bytes);
        same_as_oracle(ordinary[i], &use, number, number, bytes);
    }
}

/* Signs and lets the default provider verify, with the length that the salt
 * must have. `expected` < 0: it refuses to sign, and so must we. */
static void pss(const padding_subject *subject, const warprsa_key_use *use,
                int expected)
{
    uint8_t hash[64], signature[BYTES_MAX], computed[BYTES_MAX];
    const size_t hash_bytes = warprsa_use_digest_bytes(use->digest);
    EVP_PKEY_CTX *ctx =
        oracle_context(subject->oracle, use, expected >= 0,
                       expected >= 0 ? expected : use->salt_bytes);
    unsigned length = 0;
    size_t size = sizeof(signature);
    warprsa_use_errors errors, computed_errors, errors_alone;

    assert_non_null(ctx);
    RAND_bytes(hash, sizeof(hash));
    /* Whether it can be done is known without doing it. */
    assert_int_equal(
        warprsa_padding_encode(subject->key, use, hash, NULL, &errors_alone),
        expected >= 0);
    if (expected >= 0) {
        assert_true(sign(subject, use, hash, signature, &errors));
        assert_int_equal(
            EVP_PKEY_verify(ctx, signature, subject->bytes, hash, hash_bytes),
            1);
        assert_true(warprsa_padding_compute(subject->key, use, hash, computed,
                                            &length, &errors));
        assert_int_equal(length, subject->bytes);
        assert_int_equal(
            EVP_PKEY_verify(ctx, computed, length, hash, hash_bytes), 1);
        /* Shorter salts are the same now and then. */
        if (expected == 0 || expected >= 16)
            assert_int_equal(memcmp(signature, computed, length) == 0,
                             expected == 0);
    } else {
        assert_false(sign(subject, use, hash, signature, &errors));
        assert_false(warprsa_padding_compute(subject->key, use, hash, computed,
                                             &length, &computed_errors));
        assert_memory_equal(&errors, &computed_errors, sizeof(errors));
        assert_memory_equal(&errors, &errors_alone, sizeof(errors));
        assert_int_not_equal(
            EVP_PKEY_sign(ctx, signature, &size, hash, hash_bytes), 1);
        assert_same_errors(use, &errors);
    }
    EVP_PKEY_CTX_free(ctx);
}

/* Each length of the salt that libcrypto has a number or a name for. */
static void pss_of_each_salt(const padding_subject *subject, unsigned digest,
                             unsigned mgf1_digest)
{
    const int hash = (int)warprsa_use_digest_bytes(digest);
    const int most = (int)(BN_num_bits(subject->n) + 6) / 8 - hash - 2;
    const struct {
        int asked, expected;
    } salts[] = {
        {WARPRSA_SALT_DIGEST, hash <= most ? hash : -1},
        {WARPRSA_SALT_AUTO, most >= 0 ? most : -1},
        {WARPRSA_SALT_MAX, most >= 0 ? most : -1},
        {0, most >= 0 ? 0 : -1},
        {1, most >= 1 ? 1 : -1},
        {most, most},
        {most + 1, -1},
    };

    for (size_t i = 0; i < sizeof(salts) / sizeof(salts[0]); i++) {
        warprsa_key_use use =
            use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PSS, (unsigned)hash);

        if (salts[i].asked < WARPRSA_SALT_MAX)
            continue;
        use.digest = (uint8_t)digest;
        use.mgf1_digest = (uint8_t)mgf1_digest;
        use.salt_bytes = salts[i].asked;
        pss(subject, &use, salts[i].expected);
    }
}

TEST(pss_of_each_digest)
{
    for (unsigned digest = WARPRSA_DIGEST_MD5;
         digest <= WARPRSA_DIGEST_SHA3_512; digest++) {
        for (unsigned mgf1 = WARPRSA_DIGEST_MD5;
             mgf1 <= WARPRSA_DIGEST_SHA3_512; mgf1++)
            pss_of_each_salt(&small, digest, mgf1);
        for (int i = 1; i < 5; i++)
            pss_of_each_salt(ordinary[i], digest, WARPRSA_DIGEST_SHA256);
    }
}

TEST(pss_of_the_largest_key)
{
    warprsa_key_use use = use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PSS, 32);

    use.digest = use.mgf1_digest = WARPRSA_DIGEST_SHA256;
    use.salt_bytes = WARPRSA_SALT_MAX;
    /* 16376 bits are left for the message: a byte less than the modulus. */
    pss(&largest, &use, WARPRSA_VAULT_MODULUS_BYTES_MAX - 1 - 34);
}

/* OpenSSL 3.0 does not know this length. */
TEST(pss_of_at_most_the_digest)
{
    warprsa_key_use use = use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PSS, 64);

    use.digest = WARPRSA_DIGEST_SHA512;
    use.mgf1_digest = WARPRSA_DIGEST_SHA1;
    use.salt_bytes = WARPRSA_SALT_AUTO_DIGEST_MAX;
    pss(&small, &use, 128 - 64 - 2);
    pss(&usual, &use, 64);
}

/* What the rules allow of a digest must be of that digest. */
TEST(a_client_lies_about_the_digest)
{
    uint8_t hash[64] = {0}, input[128], number[BYTES_MAX];
    warprsa_key_use use = use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 0);
    warprsa_use_errors errors;

    for (unsigned of = WARPRSA_DIGEST_MD5; of <= WARPRSA_DIGEST_SHA3_512; of++)
        for (unsigned said = WARPRSA_DIGEST_MD5;
             said <= WARPRSA_DIGEST_SHA3_512; said++) {
            use.digest = (uint8_t)said;
            use.input_bytes = (uint16_t)digest_info(of, hash, input);
            assert_null(warprsa_key_use_fault(&use, usual.bytes));
            assert_int_equal(
                warprsa_padding_encode(usual.key, &use, input, number, &errors),
                of == said);
            assert_int_equal(
                errors.codes[0],
                of == said
                    ? 0
                    : ERR_PACK(ERR_LIB_RSA, 0, RSA_R_DIGEST_DOES_NOT_MATCH));
        }
    /* One byte more or less, or another one. */
    use.digest = WARPRSA_DIGEST_SHA256;
    use.input_bytes = (uint16_t)digest_info(WARPRSA_DIGEST_SHA256, hash, input);
    for (int i = -1; i <= 1; i++) {
        use.input_bytes = (uint16_t)(use.input_bytes + i);
        assert_int_equal(
            warprsa_padding_encode(usual.key, &use, input, number, &errors),
            i == 0);
        use.input_bytes = (uint16_t)(use.input_bytes - i);
    }
    for (unsigned i = 0; i < use.input_bytes; i++) {
        input[i] ^= 1;
        assert_int_equal(
            warprsa_padding_encode(usual.key, &use, input, number, &errors),
            i >= use.input_bytes - 32U);
        input[i] ^= 1;
    }
}

/* An RSA-PSS key signs what libcrypto lets it sign. */
static void restricted(const pss_restrictions *restrictions)
{
    padding_subject subject;
    unsigned allowed = 0;

    /* Large enough for the longest hash and as long a salt. */
    subject_new_pss(&subject, "RSA-PSS", 1056, restrictions);
    for (unsigned digest = WARPRSA_DIGEST_SHA1; digest <= WARPRSA_DIGEST_SHA512;
         digest++)
        for (unsigned mgf1 = WARPRSA_DIGEST_SHA1; mgf1 <= WARPRSA_DIGEST_SHA512;
             mgf1++)
            for (int salt = WARPRSA_SALT_MAX; salt < 40; salt++) {
                const unsigned hash = warprsa_use_digest_bytes(digest);
                warprsa_key_use use =
                    use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PSS, hash);
                uint8_t input[64] = {1}, number[BYTES_MAX];
                EVP_PKEY_CTX *ctx = NULL;
                warprsa_use_errors errors;

                use.digest = (uint8_t)digest;
                use.mgf1_digest = (uint8_t)mgf1;
                use.salt_bytes = salt;
                ctx = oracle_context(subject.oracle, &use, false, salt);
                assert_int_equal(warprsa_padding_encode(subject.key, &use,
                                                        input, number, &errors),
                                 ctx != NULL);
                allowed += ctx != NULL;
                EVP_PKEY_CTX_free(ctx);
            }
    assert_int_not_equal(allowed, 0);
    subject_free(&subject);
}

TEST(pss_keys_are_restricted)
{
    restricted(&(pss_restrictions){NULL, NULL, -1});
    restricted(&(pss_restrictions){"SHA256", "SHA256", -1});
    restricted(&(pss_restrictions){"SHA256", "SHA512", 32});
    restricted(&(pss_restrictions){"SHA1", "SHA1", 20});
    restricted(&(pss_restrictions){NULL, NULL, 30});
}

/* Nor has an RSA-PSS key another padding, but for numbers as they are. */
TEST(pss_keys_have_one_padding)
{
    padding_subject subject;
    uint8_t input[128] = {0}, number[BYTES_MAX];
    warprsa_key_use use = use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 20);
    warprsa_use_errors errors;

    subject_new_pss(&subject, "RSA-PSS", 1024,
                    &(pss_restrictions){NULL, NULL, -1});
    assert_false(
        warprsa_padding_encode(subject.key, &use, input, number, &errors));
    assert_int_equal(
        errors.codes[0],
        ERR_PACK(ERR_LIB_PROV, 0, PROV_R_ILLEGAL_OR_UNSUPPORTED_PADDING_MODE));
    use = use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_NONE, 128);
    assert_true(
        warprsa_padding_encode(subject.key, &use, input, number, &errors));
    for (unsigned padding = WARPRSA_PADDING_NONE;
         padding < WARPRSA_USE_PADDINGS; padding++) {
        use = use_of(WARPRSA_USE_DECRYPT, padding, 128);
        assert_false(
            warprsa_padding_encode(subject.key, &use, input, number, &errors));
        assert_int_equal(
            errors.codes[0],
            ERR_PACK(ERR_LIB_PROV, 0,
                     PROV_R_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE));
    }
    subject_free(&subject);
}

RUN_TESTS(setup, teardown)
