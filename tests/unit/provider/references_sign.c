/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Signatures by references, as ordinary keys give them, also in jobs and in
 * forked children.
 */
#include "tests/unit/provider/references_fixture.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/async.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

/* ---- signatures ---- */

typedef struct way_to_sign {
    int padding;
    const char *digest; /* NULL: none */
    const char *mgf1;   /* NULL: the same */
    int salt;
} way_to_sign;

static bool set_way(EVP_PKEY_CTX *ctx, const way_to_sign *way)
{
    return EVP_PKEY_CTX_set_rsa_padding(ctx, way->padding) > 0 &&
           (way->mgf1 == NULL ||
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(ctx, way->mgf1, NULL) > 0) &&
           (way->padding != RSA_PKCS1_PSS_PADDING ||
            EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, way->salt) > 0);
}

/* Signs a hash. Returns the signature's length; 0: it failed. */
static size_t sign_hash(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                        const way_to_sign *way, const unsigned char *hash,
                        size_t hash_length, unsigned char signature[256])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST,
                                         (char *)way->digest, 0),
        OSSL_PARAM_construct_end(),
    };
    size_t length = 256;
    bool ok =
        EVP_PKEY_sign_init(ctx) > 0 &&
        (way->digest == NULL || EVP_PKEY_CTX_set_params(ctx, params) > 0) &&
        set_way(ctx, way) &&
        EVP_PKEY_sign(ctx, signature, &length, hash, hash_length) > 0;

    EVP_PKEY_CTX_free(ctx);
    return ok ? length : 0;
}

/* Signs support_message as a whole, or in parts. */
static size_t sign_message(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                           const way_to_sign *way, bool in_parts,
                           unsigned char signature[256])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new(), *copy = NULL;
    EVP_PKEY_CTX *key_ctx = NULL;
    size_t length = 256;
    bool ok = EVP_DigestSignInit_ex(ctx, &key_ctx, way->digest, libctx, NULL,
                                    key, NULL) > 0 &&
              set_way(key_ctx, way);

    if (ok && in_parts) {
        ok = EVP_DigestSignUpdate(ctx, support_message, 5) > 0;
        copy = EVP_MD_CTX_new();
        ok = ok && EVP_MD_CTX_copy_ex(copy, ctx) &&
             EVP_DigestSignUpdate(copy, support_message + 5,
                                  sizeof(support_message) - 5) > 0 &&
             EVP_DigestSignFinal(copy, signature, &length) > 0;
        EVP_MD_CTX_free(copy);
    } else if (ok) {
        ok = EVP_DigestSign(ctx, signature, &length, support_message,
                            sizeof(support_message)) > 0;
    }
    EVP_MD_CTX_free(ctx);
    return ok ? length : 0;
}

/* Signs support_message in a context that is for PSS until it has the message.
 * A digest that is set then is refused. */
static size_t sign_set_late(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                            const way_to_sign *way, bool set_digest,
                            unsigned char signature[256])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    size_t length = 0;
    bool ok =
        EVP_DigestSignInit_ex(ctx, &key_ctx, way->digest, libctx, NULL, key,
                              NULL) > 0 &&
        EVP_PKEY_CTX_set_rsa_padding(key_ctx, RSA_PKCS1_PSS_PADDING) > 0 &&
        EVP_DigestSignUpdate(ctx, support_message, sizeof(support_message)) > 0;

    assert_true(ok);
    if (set_digest)
        assert_true(EVP_PKEY_CTX_set_signature_md(key_ctx, EVP_sha512()) <= 0);
    ok = set_way(key_ctx, way) && EVP_DigestSignFinal(ctx, NULL, &length) > 0;
    ok = ok && EVP_DigestSignFinal(ctx, signature, &length) > 0;
    EVP_MD_CTX_free(ctx);
    return ok ? length : 0;
}

static bool verifies(EVP_PKEY *key, const way_to_sign *way,
                     const unsigned char *signature, size_t length)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    bool ok = EVP_DigestVerifyInit_ex(ctx, &key_ctx, way->digest, NULL, NULL,
                                      key, NULL) > 0 &&
              set_way(key_ctx, way) &&
              EVP_DigestVerify(ctx, signature, length, support_message,
                               sizeof(support_message)) > 0;

    EVP_MD_CTX_free(ctx);
    return ok;
}

static void assert_use(int padding, const char *digest)
{
    assert_int_equal(uses, 1);
    assert_int_equal(last.operation, WARPRSA_USE_SIGN);
    assert_int_equal(last.padding,
                     padding == RSA_PKCS1_PADDING       ? WARPRSA_PADDING_PKCS1
                     : padding == RSA_PKCS1_PSS_PADDING ? WARPRSA_PADDING_PSS
                                                        : WARPRSA_PADDING_NONE);
    /* A libcrypto with a DigestInfo of SM3 signs what the vault has no name
     * for. */
    if (last.padding == WARPRSA_PADDING_PKCS1 && strcmp(digest, "SM3") == 0)
        assert_int_equal(last.digest, WARPRSA_DIGEST_NONE);
    else if (last.padding != WARPRSA_PADDING_NONE)
        assert_true(EVP_MD_is_a(EVP_get_digestbyname(digest),
                                warprsa_use_digest_name(last.digest)));
    uses = 0;
}

/* The reference signs by this way whenever the key does, by one use each. */
static void assert_signs(EVP_PKEY *reference, EVP_PKEY *key,
                         const way_to_sign *way)
{
    unsigned char signature[256], hash[EVP_MAX_MD_SIZE];
    size_t length = sign_message(NULL, key, way, false, signature);
    size_t hash_length = sizeof(hash);

    ERR_clear_error();
    vault_key = key;
    uses = 0;
    assert_int_equal(EVP_Q_digest(NULL, way->digest, NULL, support_message,
                                  sizeof(support_message), hash, &hash_length),
                     1);
    if (length == 0) {
        assert_int_equal(
            sign_message(subject, reference, way, false, signature), 0);
        assert_int_equal(
            sign_hash(subject, reference, way, hash, hash_length, signature),
            0);
        assert_int_equal(uses, 0);
        ERR_clear_error();
        return;
    }
    for (int in_parts = 0; in_parts < 2; in_parts++) {
        length = sign_message(subject, reference, way, in_parts, signature);
        assert_true(verifies(key, way, signature, length));
        assert_use(way->padding, way->digest);
    }
    length = sign_hash(subject, reference, way, hash, hash_length, signature);
    assert_true(verifies(key, way, signature, length));
    assert_use(way->padding, way->digest);
    assert_int_equal(ERR_peek_error(), 0);
}

static const char *const digests[] = {
    "MD5",        "SHA1",       "RIPEMD160", "SHA224",     "SHA256",
    "SHA2-256",   "SHA384",     "SHA512",    "SHA512-224", "SHA2-512/256",
    "SHA3-224",   "SHA3-256",   "SHA3-384",  "SHA3-512",   "MD5-SHA1",
    "BLAKE2s256", "BLAKE2b512", "SM3",
};

TEST(signs_by_each_digest)
{
    static const int paddings[] = {RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING,
                                   RSA_X931_PADDING};

    for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++)
        for (size_t j = 0; j < 3; j++)
            assert_signs(rsa_reference, rsa,
                         &(way_to_sign){.padding = paddings[j],
                                        .digest = digests[i],
                                        .salt = RSA_PSS_SALTLEN_DIGEST});
}

TEST(signs_pss_of_each_kind)
{
    static const int salts[] = {RSA_PSS_SALTLEN_DIGEST,
                                RSA_PSS_SALTLEN_AUTO,
                                RSA_PSS_SALTLEN_MAX,
                                0,
                                1,
                                20,
                                222, /* the longest that fits */
                                223,
                                500,
                                INT_MAX};

    for (size_t i = 0; i < sizeof(salts) / sizeof(salts[0]); i++) {
        way_to_sign way = {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, salts[i]};

        assert_signs(rsa_reference, rsa, &way);
        assert_signs(pss_reference, pss, &way);
        way.mgf1 = "SHA1";
        assert_signs(rsa_reference, rsa, &way);
    }
}

enum {
    SALT_BYTES = 37, /* no other random number is as long */
};

static unsigned salts_drawn;

static int draw(unsigned char *out, int length)
{
    salts_drawn += length == SALT_BYTES;
    memset(out, 0x5a, (size_t)length);
    return 1;
}

static int always(void)
{
    return 1;
}

/* The vault draws the salt. Nobody pads here, where that is for nothing. */
TEST(pads_once)
{
    static const RAND_METHOD counting = {
        .bytes = draw, .pseudorand = draw, .status = always};
    const way_to_sign way = {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, SALT_BYTES};
    unsigned char signature[256], hash[32] = {0};
    size_t length = 0;

    vault_key = rsa;
    assert_int_equal(RAND_set_rand_method(&counting), 1);
    salts_drawn = 0;
    length = sign_hash(subject, rsa_reference, &way, hash, 32, signature);
    assert_int_equal(length, 256);
    assert_int_equal(salts_drawn, 1);
    length = sign_message(subject, rsa_reference, &way, false, signature);
    assert_int_equal(salts_drawn, 2);
    assert_int_equal(RAND_set_rand_method(RAND_OpenSSL()), 1);
    assert_true(verifies(rsa, &way, signature, length));
}

/* Settings between a message and its signature: each is as with a key. */
TEST(settings_after_the_message)
{
    static const way_to_sign ways[] = {
        {RSA_PKCS1_PADDING, "SHA256", NULL, 0},
        {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, 20},
        {RSA_PKCS1_PSS_PADDING, "SHA256", "SHA1", 222},
        {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, 223},
        {RSA_X931_PADDING, "SHA256", NULL, 0},
    };

    vault_key = rsa;
    for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
        const way_to_sign *way = &ways[i / 2];
        unsigned char signature[256], expected[256];
        size_t length = sign_set_late(NULL, rsa, way, i % 2, expected);

        ERR_clear_error();
        assert_int_equal(
            sign_set_late(subject, rsa_reference, way, i % 2, signature),
            length);
        ERR_clear_error();
        assert_true(length == 0 || verifies(rsa, way, signature, length));
    }
}

/* Bytes without a digest, and numbers that are padded already. */
TEST(signs_what_it_is_given)
{
    static const int paddings[] = {RSA_PKCS1_PADDING, RSA_NO_PADDING};
    static const size_t lengths[] = {0, 1, 36, 245, 246, 255, 256, 257};
    unsigned char input[257], expected[256], signature[256];

    memset(input, 0x5a, sizeof(input));
    vault_key = rsa;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
            const way_to_sign way = {.padding = paddings[i]};
            size_t length =
                sign_hash(NULL, rsa, &way, input, lengths[j], expected);
            unsigned long error = ERR_peek_error();

            ERR_clear_error();
            assert_int_equal(sign_hash(subject, rsa_reference, &way, input,
                                       lengths[j], signature),
                             length);
            assert_int_equal(ERR_peek_error(), error);
            ERR_clear_error();
            assert_memory_equal(signature, expected, length);
        }
}

/* A DigestInfo that libcrypto makes of a hash, and what it would not make. Each
 * differs from the first in what an encoder may do otherwise. */
static const struct odd_info {
    unsigned char der[64];
    size_t before; /* bytes in front of the hash */
    size_t bytes;
    uint8_t digest; /* that the daemon is told */
} odd_infos[] = {
    {{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03,
      0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20},
     19,
     51,
     WARPRSA_DIGEST_SHA256},
    /* Without the NULL. */
    {{0x30, 0x2f, 0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03,
      0x04, 0x02, 0x01, 0x04, 0x20},
     17,
     49,
     WARPRSA_DIGEST_NONE},
    /* A length of two bytes. */
    {{0x30, 0x81, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48,
      0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20},
     20,
     52,
     WARPRSA_DIGEST_NONE},
    /* A hash that is too short. */
    {{0x30, 0x25, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03,
      0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x14},
     19,
     39,
     WARPRSA_DIGEST_NONE},
    /* A byte behind it. */
    {{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03,
      0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20},
     19,
     52,
     WARPRSA_DIGEST_NONE},
};

/* The default provider signs all of them. The vault takes those that it would
 * refuse as the digest's as any bytes, if the rules allow these. */
TEST(signs_digest_infos_of_other_encoders)
{
    const way_to_sign way = {.padding = RSA_PKCS1_PADDING};
    unsigned char expected[256], signature[256];

    vault_key = rsa;
    for (size_t i = 0; i < sizeof(odd_infos) / sizeof(odd_infos[0]); i++) {
        struct odd_info info = odd_infos[i];

        memset(info.der + info.before, 0x5a, info.bytes - info.before);
        assert_int_equal(
            sign_hash(NULL, rsa, &way, info.der, info.bytes, expected), 256);
        uses = 0;
        assert_int_equal(sign_hash(subject, rsa_reference, &way, info.der,
                                   info.bytes, signature),
                         256);
        assert_memory_equal(signature, expected, 256);
        assert_int_equal(uses, 1);
        assert_int_equal(last.padding, WARPRSA_PADDING_PKCS1);
        assert_int_equal(last.digest, info.digest);
    }
}

TEST(wrong_hashes_and_rooms)
{
    const way_to_sign way = {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, -1};
    unsigned char hash[32] = {0}, signature[256];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t length = 0;

    uses = 0;
    assert_int_equal(
        sign_hash(subject, rsa_reference, &way, hash, 31, signature), 0);
    EVP_DigestSignInit_ex(ctx, NULL, "SHA256", subject, NULL, rsa_reference,
                          NULL);
    assert_int_equal(EVP_DigestSign(ctx, NULL, &length, hash, 32), 1);
    assert_int_equal(length, 256);
    length = 255;
    assert_int_not_equal(EVP_DigestSign(ctx, signature, &length, hash, 32), 1);
    assert_int_equal(uses, 0);
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
}

TEST(nobody_computes)
{
    unsigned char signature[256];
    const way_to_sign way = {RSA_PKCS1_PADDING, "SHA256", NULL, 0};

    away = true;
    assert_int_equal(sign_message(subject, rsa_reference, &way, 0, signature),
                     0);
    away = false;
    assert_true(
        raised(WARPRSA_R_DAEMON, "warprsad at /run/warprsa/warprsad.sock"));
}

/* A context that is not copied for the signature may be asked again, when
 * somebody computes. If libcrypto allows that, the message is the same. */
TEST(asked_again)
{
    const way_to_sign way = {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, 32};
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    unsigned char signature[256];
    size_t length = sizeof(signature);

    vault_key = rsa;
    assert_int_equal(EVP_DigestSignInit_ex(ctx, &key_ctx, way.digest, subject,
                                           NULL, rsa_reference, NULL),
                     1);
    assert_true(set_way(key_ctx, &way));
    EVP_MD_CTX_set_flags(ctx, EVP_MD_CTX_FLAG_FINALISE);
    assert_int_equal(
        EVP_DigestSignUpdate(ctx, support_message, sizeof(support_message)), 1);
    away = true;
    assert_int_not_equal(EVP_DigestSignFinal(ctx, signature, &length), 1);
    away = false;
    length = sizeof(signature);
    if (EVP_DigestSignFinal(ctx, signature, &length) == 1)
        assert_true(verifies(rsa, &way, signature, length));
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
}

/* ---- jobs and children ---- */

typedef struct job {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    int padding;
    unsigned char signature[256];
    size_t length;
} job;

static int sign_in_job(void *arg)
{
    job *one = *(job **)arg;
    const way_to_sign way = {one->padding, "SHA256", NULL,
                             RSA_PSS_SALTLEN_DIGEST};

    one->length =
        sign_message(subject, rsa_reference, &way, true, one->signature);
    return 1;
}

static int step(job *one)
{
    int ret = 0;

    return ASYNC_start_job(&one->job, one->wait_ctx, &ret, sign_in_job, &one,
                           sizeof(one));
}

/* Signs a number that needs no padding. */
static size_t sign_number(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                          unsigned char signature[256])
{
    const way_to_sign way = {.padding = RSA_NO_PADDING};
    const unsigned char number[256] = {0, 1, 2, 3};

    return sign_hash(libctx, key, &way, number, sizeof(number), signature);
}

/* Jobs with different paddings pause in turn, and neither they nor what the
 * thread signs in between takes what another one has told about its padding. */
TEST(jobs_pause)
{
    unsigned char expected[256], signature[256];
    job jobs[6];

    memset(jobs, 0, sizeof(jobs));
    vault_key = rsa;
    pauses = true;
    for (int i = 0; i < 6; i++) {
        jobs[i].wait_ctx = ASYNC_WAIT_CTX_new();
        jobs[i].padding = i % 2 ? RSA_PKCS1_PADDING : RSA_PKCS1_PSS_PADDING;
        assert_int_equal(step(&jobs[i]), ASYNC_PAUSE);
        assert_int_equal(sign_number(subject, rsa_reference, signature), 256);
        assert_int_equal(sign_number(NULL, rsa, expected), 256);
        assert_memory_equal(signature, expected, sizeof(expected));
    }
    for (int i = 0; i < 6; i++) {
        const way_to_sign way = {jobs[i].padding, "SHA256", NULL,
                                 RSA_PSS_SALTLEN_DIGEST};

        assert_int_equal(step(&jobs[i]), ASYNC_FINISH);
        assert_true(verifies(rsa, &way, jobs[i].signature, jobs[i].length));
        ASYNC_WAIT_CTX_free(jobs[i].wait_ctx);
    }
    pauses = false;
}

TEST(children_sign)
{
    int status = -1;
    pid_t child = 0;

    vault_key = rsa;
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(!signs_right(subject, rsa_reference, rsa));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

RUN_REFERENCE_TESTS()
