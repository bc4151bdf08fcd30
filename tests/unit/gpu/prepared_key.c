/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests which keys the engines take, and the constants of prepared keys against
 * libcrypto's numbers.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <string.h>

#include "tests/unit/support/gpu_keys.h"

static BN_CTX *bn;
static BIGNUM *x, *y;

static int set_up(void **state)
{
    bn = BN_CTX_new();
    BN_CTX_start(bn);
    x = BN_CTX_get(bn);
    y = BN_CTX_get(bn);
    return y == NULL;
}

static int tear_down(void **state)
{
    BN_CTX_end(bn);
    BN_CTX_free(bn);
    return 0;
}

/* 2^(bits-1) + 1, left-padded. */
static void put_odd(uint8_t *bytes, size_t length, unsigned bits)
{
    memset(bytes, 0, length);
    bytes[length - 1] = 1;
    bytes[length - 1 - (bits - 1) / 8] |= (uint8_t)(1u << ((bits - 1) % 8));
}

/* Odd numbers of these lengths, which are all that a key's class depends on. */
static warprsa_private_key key_of(unsigned n_bits, unsigned p_bits,
                                  unsigned q_bits)
{
    warprsa_private_key key;

    memset(&key, 0, sizeof(key));
    put_odd(key.n, sizeof(key.n), n_bits);
    put_odd(key.p, sizeof(key.p), p_bits);
    put_odd(key.q, sizeof(key.q), q_bits);
    key.q[sizeof(key.q) - 1] |= 2; /* another number than p */
    put_odd(key.dp, sizeof(key.dp), p_bits);
    put_odd(key.dq, sizeof(key.dq), q_bits);
    key.modulus_bytes = (n_bits + 7) / 8;
    key.e[WARPRSA_EXPONENT_BYTES - 1] = 3;
    return key;
}

static int class_of(unsigned n_bits, unsigned p_bits, unsigned q_bits)
{
    warprsa_private_key key = key_of(n_bits, p_bits, q_bits);

    return warprsa_key_class(&key);
}

TEST(class_is_that_of_the_longer_prime)
{
    static const unsigned longest[] = {515, 1035, 1555, 2075, 3115, 4155};

    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        const unsigned bits = longest[size];
        const unsigned other = size == WARPRSA_CLASS_4096   ? 2019
                               : size == WARPRSA_CLASS_8192 ? 4035
                                                            : bits;
        const int next = size + 1 < WARPRSA_CLASSES ? size + 1 : -1;

        assert_int_equal(bits, 52 * warprsa_shape_of(size).limbs - 5);
        assert_int_equal(size, class_of(bits + other, bits, other));
        assert_int_equal(size, class_of(bits + other - 1, bits, other));
        assert_int_equal(size, class_of(bits + other - 1, other, bits));
        assert_int_equal(next, class_of(bits + other, bits + 1, other));
        assert_int_equal(next, class_of(bits + other, other, bits + 1));
    }
    assert_int_equal(WARPRSA_CLASS_1024, class_of(1024, 512, 512));
    assert_int_equal(WARPRSA_CLASS_2048, class_of(2048, 1024, 1024));
    assert_int_equal(WARPRSA_CLASS_3072, class_of(3072, 1536, 1536));
    assert_int_equal(WARPRSA_CLASS_4096, class_of(4096, 2048, 2048));
    assert_int_equal(WARPRSA_CLASS_3072, class_of(2048, 1000, 1048));
}

TEST(modulus_has_1024_to_8192_bits)
{
    assert_int_equal(-1, class_of(1023, 511, 512));
    assert_int_equal(WARPRSA_CLASS_1024, class_of(1024, 512, 512));
    assert_int_equal(WARPRSA_CLASS_4096, class_of(4096, 2048, 2048));
    assert_int_equal(WARPRSA_CLASS_6144, class_of(4097, 2048, 2049));
    assert_int_equal(WARPRSA_CLASS_6144, class_of(6144, 3072, 3072));
    assert_int_equal(WARPRSA_CLASS_8192, class_of(7680, 3840, 3840));
    assert_int_equal(WARPRSA_CLASS_8192, class_of(8192, 4096, 4096));
    /* 8193 bits do not fit n, but the length can claim them. */
    warprsa_private_key key = key_of(8192, 4096, 4096);
    key.modulus_bytes = 1025;
    assert_int_equal(-1, warprsa_key_class(&key));
    key.modulus_bytes = UINT32_MAX;
    assert_int_equal(-1, warprsa_key_class(&key));
}

TEST(length_is_that_of_the_modulus)
{
    warprsa_private_key key = key_of(1025, 513, 513);

    assert_int_equal(129, key.modulus_bytes);
    assert_int_equal(WARPRSA_CLASS_1024, warprsa_key_class(&key));
    for (uint32_t bytes = 0; bytes <= WARPRSA_MODULUS_BYTES_MAX; bytes++) {
        key.modulus_bytes = bytes;
        assert_int_equal(bytes == 129 ? WARPRSA_CLASS_1024 : -1,
                         warprsa_key_class(&key));
    }
}

/* The product of numbers of a and b bits has a + b bits or one less. With
 * longer "primes" a result would not be below n. */
TEST(primes_are_as_long_as_the_modulus)
{
    assert_int_equal(-1, class_of(1025, 512, 512));
    assert_int_equal(WARPRSA_CLASS_1024, class_of(1024, 512, 512));
    assert_int_equal(WARPRSA_CLASS_1024, class_of(1024, 512, 513));
    assert_int_equal(-1, class_of(1024, 513, 513));
    assert_int_equal(-1, class_of(1024, 2075, 2075));
    assert_int_equal(-1, class_of(2048, 1024, 1026));
}

static void refused(const warprsa_private_key *key)
{
    assert_int_equal(-1, warprsa_key_class(key));
}

TEST(even_and_small_numbers_are_refused)
{
    const warprsa_private_key good = key_of(2048, 1024, 1024);
    warprsa_private_key key = good;
    const size_t last = WARPRSA_PRIME_BYTES_MAX - 1;
    const size_t e_last = WARPRSA_EXPONENT_BYTES - 1;

    key.n[WARPRSA_MODULUS_BYTES_MAX - 1] ^= 1;
    refused(&key);
    key = good;
    key.p[last] ^= 1;
    refused(&key);
    key = good;
    key.q[last] ^= 1;
    refused(&key);
    key = good;
    key.dp[last] ^= 1;
    refused(&key);
    key = good;
    key.dq[last] ^= 1;
    refused(&key);
    key = good;
    for (unsigned e = 0; e < 256; e++) {
        key.e[e_last] = (uint8_t)e;
        assert_int_equal(e >= 3 && e % 2 == 1 ? WARPRSA_CLASS_2048 : -1,
                         warprsa_key_class(&key));
    }
    key.e[e_last] = 1;
    key.e[0] = 0x80; /* 2^63 + 1 */
    assert_int_equal(WARPRSA_CLASS_2048, warprsa_key_class(&key));
    memset(key.e, 0xff, sizeof(key.e));
    assert_int_equal(WARPRSA_CLASS_2048, warprsa_key_class(&key));
    key = good;
    memset(key.p, 0, sizeof(key.p));
    refused(&key);
    key.p[last] = 1;
    refused(&key);
    memset(&key, 0, sizeof(key));
    refused(&key);
    memset(&key, 0xff, sizeof(key));
    refused(&key);
}

TEST(equal_primes_are_refused)
{
    warprsa_private_key key = key_of(2048, 1024, 1024);

    memcpy(key.q, key.p, sizeof(key.q));
    refused(&key);
    key.q[WARPRSA_PRIME_BYTES_MAX - 128] ^= 1; /* their top bytes differ */
    assert_int_equal(WARPRSA_CLASS_2048, warprsa_key_class(&key));
}

/* `samples` are factor 2^bits mod modulus, and zero from `count` on. */
static void is_scaled(const warprsa_sample_t *samples, int count, int length,
                      const BIGNUM *factor, int bits, const BIGNUM *modulus)
{
    warprsa_sample_t expected[NUMBER_SAMPLES] = {0};

    assert_true(BN_lshift(x, factor, bits) && BN_nnmod(x, x, modulus, bn));
    number_to_samples(expected, x, count);
    assert_memory_equal(expected, samples,
                        (size_t)length * sizeof(expected[0]));
}

static void is_n0inv(warprsa_sample_t got, const BIGNUM *modulus)
{
    number_power_of_two(y, WARPRSA_SAMPLE_BITS);
    assert_non_null(BN_mod_inverse(x, modulus, y, bn));
    assert_true(BN_sub(x, y, x));
    assert_true((warprsa_sample_t)BN_get_word(x) == got);
}

#ifndef WARPRSA_INT32
/* 2^-52 mod modulus */
static void is_inv_2_52(const double *samples, int count, int length,
                        const BIGNUM *modulus)
{
    warprsa_sample_t expected[NUMBER_SAMPLES] = {0};

    number_power_of_two(y, WARPRSA_SAMPLE_BITS);
    assert_non_null(BN_mod_inverse(x, y, modulus, bn));
    number_to_samples(expected, x, count);
    assert_memory_equal(expected, samples,
                        (size_t)length * sizeof(expected[0]));
}

#endif

static void is_half(const warprsa_operation_half *half, const BIGNUM *prime,
                    const BIGNUM *exponent, int limbs)
{
    const int bits = WARPRSA_SAMPLE_BITS, length = WARPRSA_HALF_LIMBS_MAX;

    number_power_of_two(y, bits * limbs); /* above the prime: no reduction */
    is_scaled(half->modulus, limbs, length, prime, 0, y);
    is_scaled(half->r2, limbs, length, BN_value_one(), 2 * bits * limbs, prime);
    is_scaled(half->r3, limbs, length, BN_value_one(), 3 * bits * limbs, prime);
    is_n0inv(half->n0inv, prime);
#ifndef WARPRSA_INT32
    is_inv_2_52(half->inv_2_52, limbs, length, prime);
#endif
    assert_int_equal(BN_num_bits(prime), half->bits);
    for (int i = 0; i < 32 * WARPRSA_EXPONENT_WORDS; i++)
        assert_int_equal(BN_is_bit_set(exponent, i),
                         half->exponent[i / 32] >> (i % 32) & 1);
    for (int i = 0; i < 32 * WARPRSA_EXPONENT_WORDS; i++)
        assert_int_equal(i != 0 && BN_is_bit_set(prime, i),
                         half->p_minus_1[i / 32] >> (i % 32) & 1);
}

static const key_recipe recipes[] = {
    {{PRIME_DOWN, 515}, {PRIME_UP, 515}, 3},
    {{PRIME_RANDOM, 512}, {PRIME_STRIPES, 512}, 65537},
    {{PRIME_ONES, 1024}, {PRIME_ZEROS, 1024}, 17},
    {{PRIME_UP, 700}, {PRIME_DOWN, 1347}, 65537},
    {{PRIME_RANDOM, 2075}, {PRIME_RANDOM, 509}, 0x800000000000001d},
};

TEST(constants_are_right)
{
    for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++) {
        const int bits = WARPRSA_SAMPLE_BITS;
        warprsa_operation_key got;
        const int length = (int)(sizeof(got.r2) / sizeof(got.r2[0]));
        made_key made;

        assert_true(made_key_new(&made, &recipes[i]));
        BIGNUM **v = made.numbers.value;
        memset(&got, 0xff, sizeof(got));
        assert_int_equal(WARPRSA_OK,
                         warprsa_prepare_operation_key(&got, &made.key));
        assert_int_equal(warprsa_key_class(&made.key), got.size);
        const int limbs = number_view_of(2 * (int)got.size).limbs;
        is_half(&got.half[0], v[NUMBER_P], v[NUMBER_DP], limbs);
        is_half(&got.half[1], v[NUMBER_Q], v[NUMBER_DQ], limbs);
        is_scaled(got.qinv_r, limbs, WARPRSA_HALF_LIMBS_MAX, v[NUMBER_QINV],
                  bits * limbs, v[NUMBER_P]);
#ifndef WARPRSA_INT32
        is_inv_2_52(got.inv_2_52, 2 * limbs, WARPRSA_FULL_SAMPLES, v[NUMBER_N]);
#endif
        number_power_of_two(y, 2 * bits * limbs);
        is_scaled(got.modulus, 2 * limbs, length, v[NUMBER_N], 0, y);
        is_scaled(got.r2, 2 * limbs, length, BN_value_one(), 4 * bits * limbs,
                  v[NUMBER_N]);
        is_scaled(got.q_r, 2 * limbs, length, v[NUMBER_Q], 2 * bits * limbs,
                  v[NUMBER_N]);
        is_n0inv(got.n0inv, v[NUMBER_N]);
        assert_int_equal(recipes[i].e, got.e);
        assert_int_equal(made.key.modulus_bytes, got.modulus_bytes);
        made_key_free(&made);
    }
}

/* The key is refused, and what was prepared of it is wiped. */
static void is_no_key(const warprsa_private_key *key)
{
    warprsa_operation_key got, zero;

    memset(&zero, 0, sizeof(zero));
    memset(&got, 0xff, sizeof(got));
    assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                     warprsa_prepare_operation_key(&got, key));
    assert_memory_equal(&zero, &got, sizeof(got));
}

TEST(numbers_that_are_no_key)
{
    warprsa_operation_key got;
    warprsa_private_key key;
    made_key made;

    assert_true(made_key_new(&made, &recipes[1]));
    /* qinv = p, p + 1, all ones, 0 */
    for (int i = 0; i < 4; i++) {
        key = made.key;
        memcpy(key.qinv, key.p, sizeof(key.qinv));
        key.qinv[WARPRSA_PRIME_BYTES_MAX - 1] += i == 1;
        if (i >= 2)
            memset(key.qinv, i == 2 ? 0xff : 0, sizeof(key.qinv));
        is_no_key(&key);
    }
    /* below p, but not the inverse: one more, one less */
    for (int i = 0; i < 2; i++) {
        key = made.key;
        key.qinv[WARPRSA_PRIME_BYTES_MAX - 1] += (uint8_t)(2 * i - 1);
        is_no_key(&key);
    }
    /* dp and dq of 520 bits are held, of 521 are not. */
    for (int i = 0; i < 2; i++) {
        key = made.key;
        uint8_t *exponent = i == 0 ? key.dp : key.dq;
        put_odd(exponent, WARPRSA_PRIME_BYTES_MAX, 520);
        assert_int_equal(WARPRSA_OK, warprsa_prepare_operation_key(&got, &key));
        put_odd(exponent, WARPRSA_PRIME_BYTES_MAX, 521);
        is_no_key(&key);
        memset(exponent, 0xff, WARPRSA_PRIME_BYTES_MAX);
        is_no_key(&key);
    }
    key = made.key;
    key.e[WARPRSA_EXPONENT_BYTES - 1] = 2;
    assert_int_equal(WARPRSA_UNSUPPORTED_KEY,
                     warprsa_prepare_operation_key(&got, &key));
    made_key_free(&made);
}

/* p = ab and q = ac: n = p q, but a number that is right modulo p and q need
 * not be right modulo n. q has no inverse modulo p, so no qinv will do. */
TEST(primes_that_share_a_factor)
{
    made_key made, factors;
    warprsa_private_key key;
    static const key_recipe halves = {
        {PRIME_RANDOM, 256}, {PRIME_UP, 256}, 65537};

    assert_true(made_key_new(&made, &recipes[1]));
    assert_true(made_key_new(&factors, &halves));
    BIGNUM **v = made.numbers.value, **f = factors.numbers.value;
    assert_true(BN_sqr(v[NUMBER_P], f[NUMBER_P], bn) &&
                BN_mul(v[NUMBER_Q], f[NUMBER_P], f[NUMBER_Q], bn) &&
                BN_mul(v[NUMBER_N], v[NUMBER_P], v[NUMBER_Q], bn));
    for (unsigned qinv = 0; qinv < 4; qinv++) {
        assert_true(qinv < 3
                        ? BN_set_word(v[NUMBER_QINV], qinv)
                        : BN_sub(v[NUMBER_QINV], v[NUMBER_P], BN_value_one()));
        assert_true(private_key_from_numbers(&key, &made.numbers));
        if (warprsa_key_class(&key) >= 0)
            is_no_key(&key);
    }
    made_key_free(&factors);
    made_key_free(&made);
}

RUN_TESTS(set_up, tear_down)
