/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests under valgrind that removing a padding neither branches on the message
 * nor addresses memory by it. What the engine has computed is marked as not
 * initialised; memcheck follows every bit that is computed from it, libcrypto's
 * steps too, and counts an error for each branch or address that depends on
 * one. Of TLS there is none. Of PKCS #1 and OAEP there is the branch on whether
 * the padding was right, which the client is told; for each message that is
 * refused it is taken equally often.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>

#include <openssl/bn.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <valgrind/memcheck.h>

#include "tests/unit/vault/padding_keys.h"

enum {
    BYTES = 128,
    MESSAGES = 6,
    RIGHT = 2, /* the first ones, padded as PKCS #1 has it */
};

static padding_subject subject;
static uint8_t messages[MESSAGES][BYTES];

static int setup(void **state)
{
    subject_new(&subject, "1024", 1024, 2);
    memset(messages, 3, sizeof(messages));
    memcpy(messages[0], (uint8_t[2]){0, 2}, 2);
    memcpy(messages[1], messages[0], 2);
    messages[0][BYTES - 1 - WARPRSA_TLS_SECRET_BYTES] = 0;
    messages[1][BYTES - 11] = 0;
    messages[2][0] = 1; /* no padding of either kind */
    memset(messages[3], 0, 20);
    memset(messages[4], 0, BYTES);
    memset(messages[5], 0, BYTES - 1);
    return 0;
}

static int teardown(void **state)
{
    subject_free(&subject);
    return 0;
}

/* Errors of memcheck while the padding is removed from a message. */
static unsigned errors_of(const warprsa_key_use *use, const uint8_t *message,
                          bool *ok)
{
    uint8_t number[BYTES] = {0}, power[BYTES], answer[BYTES];
    unsigned length = 0, before = 0, after = 0;
    warprsa_use_errors errors;

    number[BYTES - 1] = 3;
    memcpy(power, message, BYTES);
    before = VALGRIND_COUNT_ERRORS;
    VALGRIND_MAKE_MEM_UNDEFINED(power, sizeof(power));
    *ok = warprsa_padding_finish(subject.key, use, number, power, answer,
                                 &length, &errors);
    after = VALGRIND_COUNT_ERRORS;
    VALGRIND_MAKE_MEM_DEFINED(ok, sizeof(*ok));
    return after - before;
}

/* The control: BN_bin2bn() skips leading zeros one by one. */
TEST(memcheck_finds_leading_zeros)
{
    unsigned errors[2];

    if (!RUNNING_ON_VALGRIND)
        skip();
    for (int i = 0; i < 2; i++) {
        const unsigned before = VALGRIND_COUNT_ERRORS;
        uint8_t power[BYTES];
        BIGNUM *number = NULL;

        memcpy(power, messages[2 + i], BYTES);
        VALGRIND_MAKE_MEM_UNDEFINED(power, sizeof(power));
        number = BN_bin2bn(power, BYTES, NULL);
        errors[i] = VALGRIND_COUNT_ERRORS - before;
        assert_non_null(number);
        BN_free(number);
    }
    assert_true(errors[0] > 0);
    assert_true(errors[1] >= errors[0] + 20);
}

TEST(tls)
{
    warprsa_key_use use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_TLS, BYTES);
    bool ok = false;

    if (!RUNNING_ON_VALGRIND)
        skip();
    use.tls_client_version = 0x0303;
    for (int i = 0; i < MESSAGES; i++) {
        assert_int_equal(errors_of(&use, messages[i], &ok), 0);
        assert_true(ok);
    }
}

/* All messages that are refused have as many errors. Of others the length is
 * told, too, even of those that libcrypto makes up (implicit rejection). */
static void same_for_each_refusal(const warprsa_key_use *use, int right)
{
    unsigned expected = 0;

    for (int i = 0; i < MESSAGES; i++) {
        bool ok = false;
        const unsigned errors = errors_of(use, messages[i], &ok);

        if (i < right)
            assert_true(ok);
        if (ok)
            continue;
        if (expected == 0)
            expected = errors;
        assert_int_equal(errors, expected);
    }
}

TEST(pkcs1)
{
    const warprsa_key_use use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PKCS1, BYTES);

    if (!RUNNING_ON_VALGRIND)
        skip();
    same_for_each_refusal(&use, RIGHT);
}

TEST(oaep)
{
    warprsa_key_use use =
        use_of(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_OAEP, BYTES);

    if (!RUNNING_ON_VALGRIND)
        skip();
    use.digest = use.mgf1_digest = WARPRSA_DIGEST_SHA1;
    same_for_each_refusal(&use, 0);
}

RUN_TESTS(setup, teardown)
