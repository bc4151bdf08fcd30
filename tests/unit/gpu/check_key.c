/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether numbers are those of a key, of every size class.
 */
#include "tests/unit/support/unit_test.h"

#include <openssl/bn.h>

#include "gpu/engine.h"
#include "gpu/known_answer.h"

TEST(right_numbers)
{
    warprsa_private_key key;

    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        warprsa_known_answer_key(&key, (warprsa_size_class)size);
        assert_int_equal(warprsa_check_key(&key), WARPRSA_OK);
    }
}

static void is_wrong_with(warprsa_private_key *key, uint8_t *number)
{
    number[WARPRSA_PRIME_BYTES_MAX - 1] ^= 2;
    assert_int_equal(warprsa_check_key(key), WARPRSA_CHECK_FAILED);
    number[WARPRSA_PRIME_BYTES_MAX - 1] ^= 2;
}

TEST(wrong_numbers)
{
    warprsa_private_key key;

    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        warprsa_known_answer_key(&key, (warprsa_size_class)size);
        is_wrong_with(&key, key.dp);
        is_wrong_with(&key, key.dq);
        is_wrong_with(&key, key.qinv);
        is_wrong_with(&key, key.p);
        is_wrong_with(&key, key.q);
    }
}

static BIGNUM *number_of(const uint8_t *bytes, size_t size)
{
    BIGNUM *number = BN_bin2bn(bytes, (int)size, NULL);

    assert_non_null(number);
    return number;
}

static void put(uint8_t *bytes, size_t size, const BIGNUM *number)
{
    assert_int_equal(BN_bn2binpad(number, bytes, (int)size), size);
}

/* A "prime" that is the product of two, with an exponent that is right for
 * these: without blinding every result is right. */
TEST(a_prime_that_is_none)
{
    warprsa_private_key half, key;
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *a, *b, *q, *e, *p = BN_new(), *order = BN_new(), *x = BN_new();

    warprsa_known_answer_key(&half, WARPRSA_CLASS_1024);
    warprsa_known_answer_key(&key, WARPRSA_CLASS_2048);
    a = number_of(half.p, sizeof(half.p));
    b = number_of(half.q, sizeof(half.q));
    q = number_of(key.q, sizeof(key.q));
    e = number_of(key.e, sizeof(key.e));
    assert_true(BN_mul(p, a, b, ctx) == 1);
    put(key.p, sizeof(key.p), p);
    assert_true(BN_mul(x, p, q, ctx) == 1);
    put(key.n, sizeof(key.n), x);
    assert_non_null(BN_mod_inverse(x, q, p, ctx));
    put(key.qinv, sizeof(key.qinv), x);
    assert_true(BN_sub_word(a, 1) == 1 && BN_sub_word(b, 1) == 1);
    assert_true(BN_mul(order, a, b, ctx) == 1);
    assert_non_null(BN_mod_inverse(x, e, order, ctx));
    put(key.dp, sizeof(key.dp), x);
    assert_int_equal(warprsa_check_key(&key), WARPRSA_CHECK_FAILED);
    /* Nor with the exponent that it would have as a prime, if there is one. */
    assert_true(BN_sub(order, p, BN_value_one()) == 1);
    if (BN_mod_inverse(x, e, order, ctx) != NULL) {
        put(key.dp, sizeof(key.dp), x);
        assert_int_equal(warprsa_check_key(&key), WARPRSA_CHECK_FAILED);
    }
    BN_free(a);
    BN_free(b);
    BN_free(q);
    BN_free(e);
    BN_free(p);
    BN_free(order);
    BN_free(x);
    BN_CTX_free(ctx);
}

RUN_TESTS(NULL, NULL)
