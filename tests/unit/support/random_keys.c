/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The pool of primes, and keys made from pairs of them.
 */
#include "tests/unit/support/random_keys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "tests/unit/support/rsa_numbers.h"

enum {
    MODULUS_BITS_MIN = 1024,
    MODULUS_BITS_MAX = 4096, /* of primes that are not large */
    LARGE_MODULUS_BITS_MAX = 8192,
    PRIME_BITS_MAX = 2075,
};

uint64_t random_next(random_stream *stream)
{
    uint64_t z = stream->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

unsigned random_below(random_stream *stream, unsigned limit)
{
    return (unsigned)(random_next(stream) % limit);
}

void random_bytes(random_stream *stream, unsigned char *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)random_next(stream);
}

/* The halves of the usual moduli, the longest of each size class and the
 * shortest of the next, and random lengths; neighbours are of equal length, so
 * that equal halves are common. */
static unsigned prime_length(unsigned index, uint64_t seed)
{
    static const unsigned usual[] = {512,  768,  1024,          1280, 1536,
                                     2048, 515,  516,           1035, 1036,
                                     1555, 1556, PRIME_BITS_MAX};
    const unsigned group = index / 4;
    random_stream stream = {seed + group};
    if (group < sizeof(usual) / sizeof(usual[0]))
        return usual[group];
    return 300 + random_below(&stream, PRIME_BITS_MAX - 300 + 1);
}

/* 1, 0, or -1 if there is an error. A candidate that 2^(x - 1) = 1 mod x lets
 * through is a prime but for one in more than 2^60 of 300 bits and more
 * (Damgard, Landrock, Pomerance: "Average Case Error Estimates for the Strong
 * Probable Prime Test", 1993): BN_check_prime() tries 64 bases or 128 to be
 * sure of numbers that somebody else chose. */
static int is_probably_prime(const BIGNUM *x, BN_CTX *ctx)
{
    int result = -1;

    /* Most others have a small factor. */
    for (BN_ULONG divisor = 3; divisor < 2000; divisor += 2)
        if (BN_mod_word(x, divisor) == 0)
            return 0;
    BN_CTX_start(ctx);
    BIGNUM *two = BN_CTX_get(ctx), *less1 = BN_CTX_get(ctx);
    if (less1 != NULL && BN_set_word(two, 2) &&
        BN_sub(less1, x, BN_value_one()) && BN_mod_exp(two, two, less1, x, ctx))
        result = BN_is_one(two);
    BN_CTX_end(ctx);
    return result;
}

/* A prime of exactly so many bits from a random odd start. Only the top bit
 * is forced, so that moduli of an odd number of bits come about. */
static BIGNUM *find_prime(unsigned bits, uint64_t seed)
{
    random_stream stream = {seed};
    unsigned char bytes[PRIME_BITS_MAX / 8 + 1];
    const size_t len = (bits + 7) / 8;
    BIGNUM *candidate = BN_new();
    BN_CTX *ctx = BN_CTX_new();
    int found = 0;

    while (candidate != NULL && ctx != NULL && found == 0) {
        random_bytes(&stream, bytes, len);
        if (BN_bin2bn(bytes, (int)len, candidate) == NULL ||
            (BN_num_bits(candidate) > (int)bits &&
             !BN_mask_bits(candidate, (int)bits)) ||
            !BN_set_bit(candidate, (int)bits - 1) || !BN_set_bit(candidate, 0))
            break;
        while (BN_num_bits(candidate) == (int)bits &&
               (found = is_probably_prime(candidate, ctx)) == 0)
            if (!BN_add_word(candidate, 2))
                found = -1;
    }
    BN_CTX_free(ctx);
    if (found != 1) {
        BN_free(candidate);
        return NULL;
    }
    return candidate;
}

typedef struct pool_job {
    prime_pool *pool;
    uint64_t seed;
    atomic_uint next;
    atomic_uint failed;
} pool_job;

static void *fill_some(void *arg)
{
    pool_job *job = arg;
    unsigned i;
    while ((i = atomic_fetch_add(&job->next, 1)) < RANDOM_PRIMES) {
        job->pool->primes[i] =
            find_prime(prime_length(i, job->seed), job->seed * 1000 + i);
        if (job->pool->primes[i] == NULL)
            atomic_store(&job->failed, 1);
    }
    return NULL;
}

/* The first primes below 2^bits or from 2^(bits - 1) on. */
static int fill_large(prime_pool *pool)
{
    static const struct {
        int bits, is_up;
        BN_ULONG distance; /* from 2^bits - 1 or 2^(bits - 1) + 1 */
    } large[LARGE_PRIMES] = {{3072, 0, 46},   {3072, 1, 7754}, {3840, 0, 17998},
                             {3840, 1, 1172}, {4096, 0, 2548}, {4096, 1, 578},
                             {4037, 1, 3306}, {4155, 0, 5774}};
    int good = 1;

    for (int i = 0; good && i < LARGE_PRIMES; i++) {
        BIGNUM *prime = pool->large[i] = BN_new();

        good = prime != NULL &&
               BN_set_bit(prime, large[i].bits - large[i].is_up) &&
               (large[i].is_up ? BN_add_word(prime, large[i].distance + 1)
                               : BN_sub_word(prime, large[i].distance + 1));
    }
    return good;
}

int prime_pool_fill(prime_pool *pool, uint64_t seed, unsigned threads,
                    unsigned large_in)
{
    enum {
        THREADS_MAX = 64
    };
    pthread_t ids[THREADS_MAX];
    unsigned started = 0;
    pool_job job = {pool, seed, 0, 0};

    memset(pool, 0, sizeof(*pool));
    pool->large_in = large_in;
    while (started < threads && started < THREADS_MAX &&
           pthread_create(&ids[started], NULL, fill_some, &job) == 0)
        started++;
    fill_some(&job);
    for (unsigned i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    return atomic_load(&job.failed) == 0 && fill_large(pool);
}

void prime_pool_free(prime_pool *pool)
{
    for (unsigned i = 0; i < RANDOM_PRIMES; i++)
        BN_free(pool->primes[i]);
    for (unsigned i = 0; i < LARGE_PRIMES; i++)
        BN_free(pool->large[i]);
}

/* 1: chosen; 0: this pair makes no key of the sizes wanted; -1: error. */
static int choose_primes(rsa_numbers *numbers, const prime_pool *pool,
                         random_stream *stream)
{
    const bool is_large =
        pool->large_in != 0 && random_below(stream, pool->large_in) == 0;
    BIGNUM *const *primes = is_large ? pool->large : pool->primes;
    const unsigned count = is_large ? LARGE_PRIMES : RANDOM_PRIMES;
    const unsigned group = is_large ? 2 : 4;
    const unsigned i = random_below(stream, count);
    const unsigned j = random_below(stream, 2) == 0
                           ? i / group * group + random_below(stream, group)
                           : random_below(stream, count);
    BIGNUM *n = numbers->value[NUMBER_N];
    if (i == j)
        return 0;
    if (BN_copy(numbers->value[NUMBER_P], primes[i]) == NULL ||
        BN_copy(numbers->value[NUMBER_Q], primes[j]) == NULL ||
        !BN_mul(n, primes[i], primes[j], numbers->ctx))
        return -1;
    return BN_num_bits(n) >= MODULUS_BITS_MIN &&
           BN_num_bits(n) <=
               (is_large ? LARGE_MODULUS_BITS_MAX : MODULUS_BITS_MAX);
}

static BN_ULONG choose_exponent(random_stream *stream)
{
    static const BN_ULONG usual[] = {65537, 65537, 65537, 3, 17};
    const unsigned which = random_below(stream, 6);
    return which < 5 ? usual[which]
                     : (random_next(stream) >> random_below(stream, 56)) | 3;
}

int random_key_make(random_key *key, const prime_pool *pool,
                    random_stream *stream, OSSL_LIB_CTX *subject,
                    OSSL_LIB_CTX *oracle)
{
    rsa_numbers numbers;
    int made = 0;

    memset(key, 0, sizeof(*key));
    if (!rsa_numbers_init(&numbers))
        return 0;
    while (made == 0) {
        made = choose_primes(&numbers, pool, stream);
        if (made == 1 &&
            !BN_set_word(numbers.value[NUMBER_E], choose_exponent(stream)))
            made = -1;
        if (made == 1)
            made = rsa_numbers_private_exponent(&numbers);
    }
    if (made == 1 && rsa_numbers_crt(&numbers)) {
        key->prime_bits = rsa_numbers_prime_bits(&numbers);
        key->bytes = (unsigned)BN_num_bytes(numbers.value[NUMBER_N]);
        key->n = BN_dup(numbers.value[NUMBER_N]);
        key->subject = rsa_numbers_import(&numbers, subject);
        key->oracle = rsa_numbers_import(&numbers, oracle);
    }
    rsa_numbers_free(&numbers);
    if (key->n != NULL && key->subject != NULL && key->oracle != NULL)
        return 1;
    random_key_free(key);
    return 0;
}

void random_key_free(random_key *key)
{
    EVP_PKEY_free(key->subject);
    EVP_PKEY_free(key->oracle);
    BN_free(key->n);
    memset(key, 0, sizeof(*key));
}
