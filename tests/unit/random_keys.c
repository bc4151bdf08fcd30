/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/random_keys.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/param_build.h>

enum {
    MODULUS_BITS_MIN = 1024,
    MODULUS_BITS_MAX = 4096
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

void random_octets(random_stream *stream, unsigned char *out, size_t len)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)random_next(stream);
}

/* The halves of the usual moduli, the longest of each size class, and random
 * lengths; neighbours are of equal length, so that equal halves are common. */
static unsigned prime_length(unsigned index, uint64_t seed)
{
    static const unsigned usual[] = {512,  768, 1024, 1280, 1536,
                                     2048, 518, 1038, 1558, 2018};
    const unsigned group = index / 4;
    random_stream stream = {seed + group};
    if (group < sizeof(usual) / sizeof(usual[0]))
        return usual[group];
    return 300 + random_below(&stream, 2078 - 300 + 1);
}

/* A prime of exactly so many bits from a random odd start. Only the top bit
 * is forced, so that moduli of an odd number of bits come about. */
static BIGNUM *find_prime(unsigned bits, uint64_t seed)
{
    random_stream stream = {seed};
    unsigned char octets[2078 / 8 + 1];
    const size_t len = (bits + 7) / 8;
    BIGNUM *candidate = BN_new();
    BN_CTX *ctx = BN_CTX_new();
    int found = 0;

    while (candidate != NULL && ctx != NULL && found == 0) {
        random_octets(&stream, octets, len);
        if (BN_bin2bn(octets, (int)len, candidate) == NULL ||
            (BN_num_bits(candidate) > (int)bits &&
             !BN_mask_bits(candidate, (int)bits)) ||
            !BN_set_bit(candidate, (int)bits - 1) || !BN_set_bit(candidate, 0))
            break;
        while (BN_num_bits(candidate) == (int)bits &&
               (found = BN_check_prime(candidate, ctx, NULL)) == 0)
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

int prime_pool_fill(prime_pool *pool, uint64_t seed, unsigned threads)
{
    enum {
        THREADS_MAX = 64
    };
    pthread_t ids[THREADS_MAX];
    unsigned started = 0;
    pool_job job = {pool, seed, 0, 0};

    memset(pool, 0, sizeof(*pool));
    while (started < threads && started < THREADS_MAX &&
           pthread_create(&ids[started], NULL, fill_some, &job) == 0)
        started++;
    fill_some(&job);
    for (unsigned i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    return atomic_load(&job.failed) == 0;
}

void prime_pool_free(prime_pool *pool)
{
    for (unsigned i = 0; i < RANDOM_PRIMES; i++)
        BN_free(pool->primes[i]);
}

/* The numbers of RFC 8017's second form, in the order of their names. */
enum {
    N,
    E,
    D,
    P,
    Q,
    DP,
    DQ,
    QINV,
    NUMBERS
};

static const char *const number_names[NUMBERS] = {
    OSSL_PKEY_PARAM_RSA_N,         OSSL_PKEY_PARAM_RSA_E,
    OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,
    OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
    OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
};

/* 1: chosen; 0: this pair makes no key of the sizes wanted; -1: error. */
static int choose_primes(BIGNUM *number[NUMBERS], const prime_pool *pool,
                         random_stream *stream, BN_CTX *ctx)
{
    const unsigned i = random_below(stream, RANDOM_PRIMES);
    const unsigned j = random_below(stream, 2) == 0
                           ? i / 4 * 4 + random_below(stream, 4)
                           : random_below(stream, RANDOM_PRIMES);
    if (i == j)
        return 0;
    if (BN_copy(number[P], pool->primes[i]) == NULL ||
        BN_copy(number[Q], pool->primes[j]) == NULL ||
        !BN_mul(number[N], number[P], number[Q], ctx))
        return -1;
    return BN_num_bits(number[N]) >= MODULUS_BITS_MIN &&
           BN_num_bits(number[N]) <= MODULUS_BITS_MAX;
}

/* A public exponent that fits and all that follows from it; as above. */
static int derive(BIGNUM *number[NUMBERS], random_stream *stream, BN_CTX *ctx)
{
    static const BN_ULONG usual[] = {65537, 65537, 65537, 3, 17};
    const unsigned which = random_below(stream, 6);
    const BN_ULONG e =
        which < 5 ? usual[which]
                  : (random_next(stream) >> random_below(stream, 56)) | 3;
    BIGNUM *p1 = BN_CTX_get(ctx), *q1 = BN_CTX_get(ctx);
    BIGNUM *phi = BN_CTX_get(ctx), *gcd = BN_CTX_get(ctx);

    if (gcd == NULL || !BN_set_word(number[E], e) ||
        !BN_sub(p1, number[P], BN_value_one()) ||
        !BN_sub(q1, number[Q], BN_value_one()) || !BN_mul(phi, p1, q1, ctx) ||
        !BN_gcd(gcd, phi, number[E], ctx))
        return -1;
    if (!BN_is_one(gcd))
        return 0;
    if (BN_mod_inverse(number[D], number[E], phi, ctx) == NULL ||
        !BN_mod(number[DP], number[D], p1, ctx) ||
        !BN_mod(number[DQ], number[D], q1, ctx) ||
        BN_mod_inverse(number[QINV], number[Q], number[P], ctx) == NULL)
        return -1;
    return 1;
}

static EVP_PKEY *import(BIGNUM *number[NUMBERS], OSSL_LIB_CTX *libctx)
{
    EVP_PKEY *pkey = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(libctx, "RSA", NULL);
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    int good = ctx != NULL && builder != NULL;

    for (int i = 0; good && i < NUMBERS; i++)
        good = OSSL_PARAM_BLD_push_BN(builder, number_names[i], number[i]);
    if (good)
        params = OSSL_PARAM_BLD_to_param(builder);
    if (params == NULL || EVP_PKEY_fromdata_init(ctx) <= 0 ||
        EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_KEYPAIR, params) <= 0)
        pkey = NULL;
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(ctx);
    return pkey;
}

int random_key_make(random_key *key, const prime_pool *pool,
                    random_stream *stream, OSSL_LIB_CTX *subject,
                    OSSL_LIB_CTX *oracle)
{
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *number[NUMBERS];
    int made = 0;

    memset(key, 0, sizeof(*key));
    if (ctx == NULL)
        return 0;
    BN_CTX_start(ctx);
    for (int i = 0; i < NUMBERS; i++)
        number[i] = BN_CTX_get(ctx);
    while (number[NUMBERS - 1] != NULL && made == 0) {
        made = choose_primes(number, pool, stream, ctx);
        if (made == 1) {
            BN_CTX_start(ctx);
            made = derive(number, stream, ctx);
            BN_CTX_end(ctx);
        }
    }
    if (made == 1) {
        const int p = BN_num_bits(number[P]), q = BN_num_bits(number[Q]);
        key->prime_bits = (unsigned)(p > q ? p : q);
        key->octets = (unsigned)BN_num_bytes(number[N]);
        key->n = BN_dup(number[N]);
        key->subject = import(number, subject);
        key->oracle = import(number, oracle);
    }
    BN_CTX_end(ctx);
    BN_CTX_free(ctx);
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
