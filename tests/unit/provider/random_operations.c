/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Random operations with random keys of random sizes, by many threads, through
 * the provider. The default provider, in a library context of its own, says
 * what is right. The counters say that the engine computed every operation.
 *
 *   random_operations [OPERATIONS [THREADS [SEED]]]
 *
 * BUILD_DIR: where the module is, from the root; WARPRSA_TEST_ENGINE: host
 * (unless set), ifma or cuda; WARPRSA_TEST_SCALE: percentage of the 2,000
 * operations that are made if no number is given. The seed is printed: the same
 * one gives the same run, but for what the threads do at the same time.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/rsa.h>

#include "tests/unit/support/module_context.h"
#include "tests/unit/support/random_keys.h"

enum {
    OPERATIONS = 2000,
    THREADS = 16,
    THREADS_MAX = 1024,
    KEYS_PER_THREAD = 8,
    BYTES_MAX = 1024,
    CLASSES = 6,
    /* On a GPU one key in so many is of a large class. Their operations take
     * libcrypto up to 50 ms each, and engines on the CPU up to a second. */
    LARGE_IN = 50,
};

typedef enum operation {
    RAW_SIGN,
    RAW_DECRYPT,
    PKCS1_SIGN,
    PSS_SIGN,
    PKCS1_DECRYPT,
    OAEP_DECRYPT,
    OPERATION_KINDS
} operation;

static const char *const operation_names[OPERATION_KINDS] = {
    "raw sign", "raw decrypt",    "PKCS#1 sign",
    "PSS sign", "PKCS#1 decrypt", "OAEP decrypt",
};

static const int operation_padding[OPERATION_KINDS] = {
    RSA_NO_PADDING,        RSA_NO_PADDING,    RSA_PKCS1_PADDING,
    RSA_PKCS1_PSS_PADDING, RSA_PKCS1_PADDING, RSA_PKCS1_OAEP_PADDING,
};

typedef int init_fn(EVP_PKEY_CTX *ctx);
typedef int crypt_fn(EVP_PKEY_CTX *ctx, unsigned char *out, size_t *out_len,
                     const unsigned char *in, size_t in_len);

typedef struct run {
    OSSL_LIB_CTX *subject;
    OSSL_LIB_CTX *oracle;
    prime_pool pool;
    uint64_t seed;
    unsigned operations;
    atomic_uint next_operation;
    atomic_uint next_thread;
    atomic_bool failed;
    atomic_uint by_class[CLASSES];
} run;

typedef struct bytes {
    size_t len;
    unsigned char data[BYTES_MAX];
} bytes;

static bool crypt_one(OSSL_LIB_CTX *libctx, EVP_PKEY *pkey, init_fn *init,
                      crypt_fn *crypt, int padding, bool with_digest,
                      const bytes *in, bytes *out)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, pkey, NULL);
    out->len = sizeof(out->data);
    const bool good = ctx != NULL && init(ctx) > 0 &&
                      EVP_PKEY_CTX_set_rsa_padding(ctx, padding) > 0 &&
                      (!with_digest ||
                       EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) > 0) &&
                      crypt(ctx, out->data, &out->len, in->data, in->len) > 0;
    EVP_PKEY_CTX_free(ctx);
    return good;
}

static bool same(const bytes *a, const bytes *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* A number below n: mostly random; else near 0 or n, short, or with a long run
 * of ones or zeros. */
static bool make_number(random_stream *stream, const random_key *key,
                        bytes *number)
{
    const size_t half = key->bytes / 2;
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *value = BN_new();
    bool good = ctx != NULL && value != NULL;

    number->len = key->bytes;
    random_bytes(stream, number->data, number->len);
    switch (random_below(stream, 16)) {
    case 0:
        memset(number->data, 0, number->len);
        number->data[number->len - 1] = (unsigned char)random_below(stream, 3);
        break;
    case 1:
        good = good && BN_copy(value, key->n) != NULL &&
               BN_sub_word(value, 1 + random_below(stream, 2)) &&
               BN_bn2binpad(value, number->data, (int)number->len) > 0;
        break;
    case 2:
        memset(number->data, 0, random_below(stream, key->bytes));
        break;
    case 3:
        memset(number->data + random_below(stream, half), 0xff, half);
        break;
    case 4:
        memset(number->data + random_below(stream, half), 0, half);
        break;
    default:
        break;
    }
    good = good && BN_bin2bn(number->data, (int)number->len, value) != NULL &&
           BN_nnmod(value, value, key->n, ctx) &&
           BN_bn2binpad(value, number->data, (int)number->len) > 0;
    BN_free(value);
    BN_CTX_free(ctx);
    return good;
}

/* Both providers make the same operation: the results must be equal. */
static bool compare(const run *r, const random_key *key, operation kind,
                    const bytes *in)
{
    bytes ours, theirs;
    const bool decrypts = kind == RAW_DECRYPT;
    init_fn *init = decrypts ? EVP_PKEY_decrypt_init : EVP_PKEY_sign_init;
    crypt_fn *crypt = decrypts ? EVP_PKEY_decrypt : EVP_PKEY_sign;
    const int padding = operation_padding[kind];

    return crypt_one(r->subject, key->subject, init, crypt, padding,
                     kind == PKCS1_SIGN, in, &ours) &&
           crypt_one(r->oracle, key->oracle, init, crypt, padding,
                     kind == PKCS1_SIGN, in, &theirs) &&
           same(&ours, &theirs);
}

/* The default provider verifies what ours has signed. */
static bool sign_and_verify(const run *r, const random_key *key,
                            const bytes *digest)
{
    bytes sig;
    if (!crypt_one(r->subject, key->subject, EVP_PKEY_sign_init, EVP_PKEY_sign,
                   RSA_PKCS1_PSS_PADDING, true, digest, &sig))
        return false;
    EVP_PKEY_CTX *ctx =
        EVP_PKEY_CTX_new_from_pkey(r->oracle, key->oracle, NULL);
    const bool good =
        ctx != NULL && EVP_PKEY_verify_init(ctx) > 0 &&
        EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) > 0 &&
        EVP_PKEY_CTX_set_signature_md(ctx, EVP_sha256()) > 0 &&
        EVP_PKEY_verify(ctx, sig.data, sig.len, digest->data, digest->len) > 0;
    EVP_PKEY_CTX_free(ctx);
    return good;
}

/* The default provider encrypts, ours decrypts. */
static bool encrypt_and_decrypt(const run *r, const random_key *key,
                                int padding, const bytes *message)
{
    bytes sealed, opened;
    return crypt_one(r->oracle, key->oracle, EVP_PKEY_encrypt_init,
                     EVP_PKEY_encrypt, padding, false, message, &sealed) &&
           crypt_one(r->subject, key->subject, EVP_PKEY_decrypt_init,
                     EVP_PKEY_decrypt, padding, false, &sealed, &opened) &&
           same(message, &opened);
}

static bool one_operation(const run *r, const random_key *key, operation kind,
                          random_stream *stream)
{
    bytes in;
    in.len = 32;
    random_bytes(stream, in.data, in.len);
    switch (kind) {
    case RAW_SIGN:
    case RAW_DECRYPT:
        return make_number(stream, key, &in) && compare(r, key, kind, &in);
    case PKCS1_SIGN:
        return compare(r, key, kind, &in);
    case PSS_SIGN:
        return sign_and_verify(r, key, &in);
    default:
        in.len = 1 + random_below(stream, 64);
        random_bytes(stream, in.data, in.len);
        return encrypt_and_decrypt(r, key, operation_padding[kind], &in);
    }
}

static unsigned class_of(const random_key *key)
{
    return key->prime_bits <= 515    ? 0
           : key->prime_bits <= 1035 ? 1
           : key->prime_bits <= 1555 ? 2
           : key->prime_bits <= 2075 ? 3
           : key->prime_bits <= 3115 ? 4
                                     : 5;
}

/* A thread makes operations until there are enough. It has a few keys of its
 * own and replaces one of them now and then. */
static void *operate(void *arg)
{
    run *r = arg;
    random_key keys[KEYS_PER_THREAD] = {0};
    random_stream stream = {r->seed +
                            1000003 * atomic_fetch_add(&r->next_thread, 1)};
    unsigned number;

    while (!atomic_load(&r->failed) &&
           (number = atomic_fetch_add(&r->next_operation, 1)) < r->operations) {
        random_key *key = &keys[random_below(&stream, KEYS_PER_THREAD)];
        if (key->n == NULL || random_below(&stream, 8) == 0) {
            random_key_free(key);
            if (!random_key_make(key, &r->pool, &stream, r->subject,
                                 r->oracle)) {
                fprintf(stderr, "operation %u: no key\n", number);
                atomic_store(&r->failed, true);
                break;
            }
        }
        const operation kind = random_below(&stream, OPERATION_KINDS);
        if (!one_operation(r, key, kind, &stream)) {
            fprintf(stderr, "operation %u: %s, %d bits, prime of %u: wrong\n",
                    number, operation_names[kind], BN_num_bits(key->n),
                    key->prime_bits);
            ERR_print_errors_fp(stderr);
            atomic_store(&r->failed, true);
        }
        atomic_fetch_add(&r->by_class[class_of(key)], 1);
    }
    for (unsigned i = 0; i < KEYS_PER_THREAD; i++)
        random_key_free(&keys[i]);
    return NULL;
}

static bool operate_with(run *r, unsigned threads)
{
    pthread_t ids[THREADS_MAX];
    unsigned started = 0;
    while (started < threads &&
           pthread_create(&ids[started], NULL, operate, r) == 0)
        started++;
    for (unsigned i = 0; i < started; i++)
        pthread_join(ids[i], NULL);
    return started == threads && !atomic_load(&r->failed);
}

/* Whether the counters say that the engine computed every operation once, in
 * its size class, and that every key that was loaded was wiped. */
static bool counters_agree(const module_context *module, const run *r)
{
    static const char *const classes[CLASSES] = {"1024", "2048", "3072",
                                                 "4096", "6144", "8192"};
    const char *counter = module_context_engine_counter();
    bool good = module_context_counter(module, counter) == r->operations &&
                module_context_counter(module, "cpu") == 0 &&
                module_context_counter(module, "checks_failed") == 0 &&
                module_context_counter(module, "keys_loaded") > 0 &&
                module_context_counter(module, "keys_loaded") ==
                    module_context_counter(module, "keys_wiped");
    for (int i = 0; i < CLASSES; i++) {
        char name[16];

        snprintf(name, sizeof(name), "%s_%s", counter, classes[i]);
        good = good && module_context_counter(module, name) ==
                           atomic_load(&r->by_class[i]);
    }
    if (!good)
        fprintf(stderr, "the counters do not agree with %u %u %u %u %u %u:%s\n",
                r->by_class[0], r->by_class[1], r->by_class[2], r->by_class[3],
                r->by_class[4], r->by_class[5], module->counters);
    return good;
}

static bool read_number(const char *text, unsigned long long limit,
                        unsigned long long *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && *number >= 1 &&
        *number <= limit)
        return true;
    fprintf(stderr, "not a number of 1 to %llu: %s\n", limit, text);
    return false;
}

int main(int argc, char **argv)
{
    unsigned long long operations = module_context_scaled(OPERATIONS);
    unsigned long long threads = THREADS;
    const bool is_gpu = strcmp(module_context_engine(), "cuda") == 0;
    unsigned long long seed = (unsigned long long)time(NULL);
    static run r;
    module_context module;

    if (argc > 4 ||
        (argc > 1 && !read_number(argv[1], 100000000, &operations)) ||
        (argc > 2 && !read_number(argv[2], THREADS_MAX, &threads)) ||
        (argc > 3 && !read_number(argv[3], UINT64_MAX, &seed)))
        return 2;
    if (module_context_device_missing())
        return MODULE_CONTEXT_SKIPPED;
    printf("random_operations %llu %llu %llu, engine %s\n", operations, threads,
           seed, module_context_engine());
    r.operations = (unsigned)operations;
    r.seed = seed;
    r.oracle = OSSL_LIB_CTX_new();
    if (r.oracle == NULL ||
        !module_context_open(&module, module_context_engine(), ""))
        return 1;
    r.subject = module.libctx;
    bool good = prime_pool_fill(&r.pool, seed, (unsigned)threads,
                                is_gpu ? LARGE_IN : 0) &&
                operate_with(&r, (unsigned)threads);
    prime_pool_free(&r.pool);
    OSSL_LIB_CTX_free(r.oracle);
    good = module_context_close(&module) && good && counters_agree(&module, &r);
    printf("%s\n", module.counters);
    return good ? 0 : 1;
}
