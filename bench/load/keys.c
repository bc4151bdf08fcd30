/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making keys from a few primes, on all CPUs, and copying them to a subject;
 * or loading them there from files.
 */
#include "bench/load/keys.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "bench/load/threads.h"

typedef struct prime_pool {
    OSSL_LIB_CTX *libctx;
    unsigned bits, count;
    BIGNUM **primes;
    BIGNUM *e;
    atomic_uint next;
    atomic_bool failed;
} prime_pool;

/* A prime with its two highest bits set, so that two of them have a product of
 * twice the length, and p - 1 prime to e. */
static BIGNUM *find_prime(const prime_pool *pool, BN_CTX *ctx)
{
    BIGNUM *p = BN_secure_new(), *rest = BN_new();
    bool ok = p != NULL && rest != NULL;

    do
        ok = ok &&
             BN_generate_prime_ex2(p, (int)pool->bits, 0, NULL, NULL, NULL,
                                   ctx) &&
             BN_mod(rest, p, pool->e, ctx);
    while (ok && (BN_is_one(rest) || !BN_is_bit_set(p, (int)pool->bits - 2)));
    BN_free(rest);
    if (ok)
        return p;
    BN_free(p);
    return NULL;
}

static void *find_primes(void *arg)
{
    prime_pool *pool = arg;
    BN_CTX *ctx = BN_CTX_new_ex(pool->libctx);
    unsigned i = 0;

    while ((i = atomic_fetch_add(&pool->next, 1)) < pool->count) {
        pool->primes[i] = ctx == NULL ? NULL : find_prime(pool, ctx);
        if (pool->primes[i] == NULL)
            atomic_store(&pool->failed, true);
    }
    BN_CTX_free(ctx);
    return NULL;
}

static void pool_fill(prime_pool *pool, OSSL_LIB_CTX *libctx, unsigned bits,
                      unsigned keys)
{
    *pool = (prime_pool){.libctx = libctx, .bits = bits, .count = 2};
    while (pool->count * (pool->count - 1) / 2 < keys)
        pool->count++;
    pool->primes = calloc(pool->count, sizeof(BIGNUM *));
    pool->e = BN_new();
    if (pool->primes == NULL || pool->e == NULL || !BN_set_word(pool->e, 65537))
        load_fail("no memory for keys");
    if (!load_threads_run_on_cpus(find_primes, pool) ||
        atomic_load(&pool->failed))
        load_fail("no primes of %u bits can be made", bits);
}

static void pool_free(prime_pool *pool)
{
    for (unsigned i = 0; i < pool->count; i++)
        BN_clear_free(pool->primes[i]);
    free(pool->primes);
    BN_free(pool->e);
}

/* The numbers of RFC 8017, section 3.2, of p > q. */
static bool push_numbers(OSSL_PARAM_BLD *builder, BN_CTX *ctx, BIGNUM *e,
                         BIGNUM *p, BIGNUM *q)
{
    BIGNUM *n = BN_CTX_get(ctx), *d = BN_CTX_get(ctx), *dp = BN_CTX_get(ctx),
           *dq = BN_CTX_get(ctx), *qinv = BN_CTX_get(ctx),
           *p1 = BN_CTX_get(ctx), *q1 = BN_CTX_get(ctx), *phi = BN_CTX_get(ctx);

    return phi != NULL && BN_mul(n, p, q, ctx) &&
           BN_sub(p1, p, BN_value_one()) && BN_sub(q1, q, BN_value_one()) &&
           BN_mul(phi, p1, q1, ctx) && BN_mod_inverse(d, e, phi, ctx) != NULL &&
           BN_mod(dp, d, p1, ctx) && BN_mod(dq, d, q1, ctx) &&
           BN_mod_inverse(qinv, q, p, ctx) != NULL &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_D, d) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_FACTOR1, p) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_FACTOR2, q) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_EXPONENT1, dp) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_EXPONENT2, dq) &&
           OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
                                  qinv);
}

static EVP_PKEY *combine(OSSL_LIB_CTX *libctx, BIGNUM *e, BIGNUM *p, BIGNUM *q)
{
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *key_ctx = EVP_PKEY_CTX_new_from_name(libctx, "RSA", NULL);
    BN_CTX *ctx = BN_CTX_new_ex(libctx);
    OSSL_PARAM *params = NULL;
    EVP_PKEY *key = NULL;

    if (ctx != NULL)
        BN_CTX_start(ctx);
    if (ctx != NULL && builder != NULL && key_ctx != NULL &&
        push_numbers(builder, ctx, e, BN_cmp(p, q) > 0 ? p : q,
                     BN_cmp(p, q) > 0 ? q : p) &&
        (params = OSSL_PARAM_BLD_to_param(builder)) != NULL &&
        (EVP_PKEY_fromdata_init(key_ctx) != 1 ||
         EVP_PKEY_fromdata(key_ctx, &key, EVP_PKEY_KEYPAIR, params) != 1))
        key = NULL;
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(key_ctx);
    if (ctx != NULL)
        BN_CTX_end(ctx);
    BN_CTX_free(ctx);
    return key;
}

void load_plain_text(unsigned which, unsigned char text[LOAD_PLAIN_BYTES])
{
    for (unsigned i = 0; i < LOAD_PLAIN_BYTES; i++)
        text[i] = (unsigned char)(which * LOAD_PLAIN_BYTES + i);
}

static bool encrypt(const load_keys *keys, load_key *key)
{
    EVP_PKEY_CTX *ctx =
        EVP_PKEY_CTX_new_from_pkey(keys->libctx, key->oracle, NULL);
    unsigned char text[LOAD_PLAIN_BYTES];
    bool ok = ctx != NULL &&
              (key->ciphertexts = calloc(LOAD_CIPHERTEXTS,
                                         sizeof(*key->ciphertexts))) != NULL &&
              EVP_PKEY_encrypt_init(ctx) == 1 &&
              EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) == 1 &&
              EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, "SHA256", NULL) == 1;

    for (unsigned i = 0; ok && i < LOAD_CIPHERTEXTS; i++) {
        size_t length = LOAD_BYTES_MAX;

        load_plain_text(i, text);
        ok = EVP_PKEY_encrypt(ctx, key->ciphertexts[i], &length, text,
                              sizeof(text)) == 1 &&
             length == key->bytes;
    }
    EVP_PKEY_CTX_free(ctx);
    return ok;
}

static void encrypt_for(const load_keys *keys, load_key *key)
{
    if (keys->options->weights[LOAD_OAEP] > 0 && !encrypt(keys, key))
        load_fail("nothing can be encrypted for a key of %u bits",
                  8 * key->bytes);
}

/* The keys of a group that several threads make, each the next one. */
typedef struct group_work {
    const load_keys *keys;
    const load_group *group;
    const prime_pool *pool;
    load_key *first;
    atomic_uint next;
} group_work;

/* Makes key `k` of a group from a pair of primes that no other key has: in
 * order, (0, 1), (0, 2), (1, 2), (0, 3), (1, 3) and so on. */
static void make_key(const group_work *work, unsigned k)
{
    const prime_pool *pool = work->pool;
    load_key *key = &work->first[k];
    unsigned i = k, j = 1;

    for (; i >= j; j++)
        i -= j;
    key->oracle =
        combine(work->keys->libctx, pool->e, pool->primes[i], pool->primes[j]);
    if (key->oracle == NULL)
        load_fail("a key of %u bits can't be made", work->group->bits);
    key->bytes = (unsigned)EVP_PKEY_get_size(key->oracle);
    encrypt_for(work->keys, key);
}

static void *make_keys(void *arg)
{
    group_work *work = arg;
    unsigned k = 0;

    while ((k = atomic_fetch_add(&work->next, 1)) < work->group->count)
        make_key(work, k);
    return NULL;
}

static void make_group(load_keys *keys, const load_group *group)
{
    prime_pool pool;
    group_work work = {.keys = keys,
                       .group = group,
                       .pool = &pool,
                       .first = &keys->keys[keys->count]};

    pool_fill(&pool, keys->libctx, group->bits / 2, group->count);
    if (!load_threads_run_on_cpus(make_keys, &work))
        load_fail("no thread can be started");
    keys->count += group->count;
    pool_free(&pool);
}

static void make_distribution(load_keys *keys, size_t group, unsigned count)
{
    if (!load_distribution_init(&keys->distributions[group], count,
                                keys->options->zipf))
        load_fail("no memory for %u keys", count);
}

void load_keys_make(load_keys *keys, const load_options *options)
{
    size_t count = 0;

    *keys = (load_keys){.options = options, .libctx = OSSL_LIB_CTX_new()};
    if (keys->libctx != NULL)
        keys->provider = OSSL_PROVIDER_load(keys->libctx, "default");
    if (keys->provider == NULL)
        load_fail("OpenSSL's default provider can't be loaded");
    for (size_t i = 0; i < options->groups_count; i++) {
        count += options->groups[i].count;
        keys->weight += options->groups[i].weight;
    }
    if (options->key_files_count > 0)
        count = options->key_files_count;
    keys->keys = calloc(count, sizeof(*keys->keys));
    if (keys->keys == NULL)
        load_fail("no memory for %zu keys", count);
    if (options->key_files_count > 0) {
        keys->count = (unsigned)count;
        make_distribution(keys, 0, keys->count);
        return;
    }
    for (size_t i = 0; i < options->groups_count; i++) {
        make_group(keys, &options->groups[i]);
        make_distribution(keys, i, options->groups[i].count);
    }
}

/* Copies a key by encoding and decoding it, as if it came from a file. */
static EVP_PKEY *copy(const load_key *key, OSSL_LIB_CTX *libctx)
{
    unsigned char *encoded = NULL;
    const unsigned char *position = NULL;
    int length = i2d_PrivateKey(key->oracle, &encoded);
    EVP_PKEY *made = NULL;

    position = encoded;
    if (length > 0)
        made = d2i_PrivateKey_ex(EVP_PKEY_RSA, NULL, &position, length, libctx,
                                 NULL);
    OPENSSL_clear_free(encoded, length > 0 ? (size_t)length : 0);
    return made;
}

/* The public half of a subject's key, in the default provider. */
static EVP_PKEY *public_half(const load_keys *keys, const EVP_PKEY *key)
{
    unsigned char *encoded = NULL;
    const unsigned char *position = NULL;
    int length = i2d_PUBKEY(key, &encoded);
    EVP_PKEY *made = NULL;

    position = encoded;
    if (length > 0)
        made = d2i_PUBKEY_ex(NULL, &position, length, keys->libctx, NULL);
    OPENSSL_free(encoded);
    return made;
}

static void load_file(const load_keys *keys, load_key *key, const char *path,
                      OSSL_LIB_CTX *subject)
{
    BIO *file = BIO_new_file(path, "r");

    if (file != NULL)
        key->subject =
            PEM_read_bio_PrivateKey_ex(file, NULL, NULL, NULL, subject, NULL);
    BIO_free(file);
    if (key->subject != NULL && EVP_PKEY_is_a(key->subject, "RSA"))
        key->oracle = public_half(keys, key->subject);
    if (key->oracle == NULL)
        load_fail("--key-files: %s: an RSA key or a reference in PEM is wanted",
                  path);
    key->bytes = (unsigned)EVP_PKEY_get_size(key->oracle);
    if (key->bytes > LOAD_BYTES_MAX)
        load_fail("--key-files: %s: %u bits: 4096 at most are wanted", path,
                  8 * key->bytes);
    encrypt_for(keys, key);
}

/* The keys that several threads copy, each the next one. */
typedef struct copy_work {
    load_keys *keys;
    OSSL_LIB_CTX *subject;
    atomic_uint next;
} copy_work;

static void *copy_keys(void *arg)
{
    copy_work *work = arg;
    unsigned i = 0;

    while ((i = atomic_fetch_add(&work->next, 1)) < work->keys->count) {
        load_key *key = &work->keys->keys[i];

        key->subject = copy(key, work->subject);
        if (key->subject == NULL)
            load_fail("the subject can't read a key of %u bits",
                      8 * key->bytes);
    }
    return NULL;
}

void load_keys_copy(load_keys *keys, OSSL_LIB_CTX *subject)
{
    copy_work work = {.keys = keys, .subject = subject};

    for (unsigned i = 0; i < keys->options->key_files_count; i++)
        load_file(keys, &keys->keys[i], keys->options->key_files[i], subject);
    if (keys->options->key_files_count == 0 &&
        !load_threads_run_on_cpus(copy_keys, &work))
        load_fail("no thread can be started");
}

void load_keys_drop_copies(load_keys *keys)
{
    for (unsigned i = 0; i < keys->count; i++) {
        EVP_PKEY_free(keys->keys[i].subject);
        keys->keys[i].subject = NULL;
        if (keys->options->key_files_count > 0) {
            EVP_PKEY_free(keys->keys[i].oracle);
            keys->keys[i].oracle = NULL;
        }
    }
}

void load_keys_free(load_keys *keys)
{
    for (unsigned i = 0; i < keys->count; i++) {
        EVP_PKEY_free(keys->keys[i].oracle);
        free(keys->keys[i].ciphertexts);
    }
    free(keys->keys);
    for (size_t i = 0; i < keys->options->groups_count; i++)
        load_distribution_clear(&keys->distributions[i]);
    OSSL_PROVIDER_unload(keys->provider);
    OSSL_LIB_CTX_free(keys->libctx);
}

load_key *load_keys_choose(const load_keys *keys, load_random *random)
{
    const load_options *options = keys->options;
    unsigned left = 0, first = 0;
    size_t i = 0;

    if (options->key_files_count > 0)
        return &keys->keys[load_distribution_choose(&keys->distributions[0],
                                                    random)];
    left = load_random_below(random, keys->weight);
    for (; left >= options->groups[i].weight; i++) {
        left -= options->groups[i].weight;
        first += options->groups[i].count;
    }
    return &keys->keys[first + load_distribution_choose(&keys->distributions[i],
                                                        random)];
}
