/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * RSA keys from all ordered pairs of a few primes: n primes give n (n - 1)
 * keys, and finding the primes is what takes the time.
 */
#include "bench/programs/key_set.h"

#include <stdlib.h>

#include <openssl/rsa.h>

#include "bench/programs/bench.h"

/* A prime of `bits` bits. libcrypto sets its two top bits, so the product of
 * two such primes has full length. e = RSA_F4 must be invertible mod prime - 1;
 * e is prime, so that holds unless prime mod e is 1. */
static BIGNUM *find_prime(size_t bits)
{
    BIGNUM *prime = BN_new();
    BN_ULONG rest;

    do {
        if (prime == NULL ||
            !BN_generate_prime_ex(prime, (int)bits, 0, NULL, NULL, NULL))
            bench_fail("no prime");
        rest = BN_mod_word(prime, RSA_F4);
    } while (rest == 1 || rest == (BN_ULONG)-1);
    return prime;
}

static void make_key(made_key *made, const BIGNUM *p, const BIGNUM *q)
{
    rsa_numbers *numbers = &made->numbers;
    BIGNUM **v = numbers->value;

    if (!rsa_numbers_init(numbers) || !BN_set_word(v[NUMBER_E], RSA_F4) ||
        BN_copy(v[NUMBER_P], p) == NULL || BN_copy(v[NUMBER_Q], q) == NULL ||
        !BN_mul(v[NUMBER_N], p, q, numbers->ctx) ||
        !rsa_numbers_private_exponent(numbers) || !rsa_numbers_crt(numbers) ||
        !private_key_from_numbers(&made->key, numbers))
        bench_fail("no key");
}

void key_set_new(key_set *set, size_t bits, size_t count)
{
    size_t primes = 2, next = 0;

    while (primes * (primes - 1) < count)
        primes++;
    BIGNUM **prime = calloc(primes, sizeof(*prime));
    set->keys = calloc(count, sizeof(*set->keys));
    set->count = count;
    if (prime == NULL || set->keys == NULL)
        bench_fail("no memory");
    for (size_t i = 0; i < primes; i++)
        prime[i] = find_prime(bits / 2);
    for (size_t apart = 1; apart < primes; apart++)
        for (size_t i = 0; i < primes && next < count; i++)
            make_key(&set->keys[next++], prime[i], prime[(i + apart) % primes]);
    for (size_t i = 0; i < primes; i++)
        BN_free(prime[i]);
    free(prime);
}

void key_set_free(key_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        made_key_free(&set->keys[i]);
    free(set->keys);
}
