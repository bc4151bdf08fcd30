/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rate of the engine "ifma" on one CPU, beside Intel's crypto_mb and
 * libcrypto in the same run: full batches of eight private operations, whole
 * ones with blinding and check by "ifma"; crypto_mb does neither. Bind it to a
 * CPU:
 *
 *   taskset -c 1 build/bench/programs/ifma_rate [--mb=libcrypto_mb.so.12]
 *       [--rounds=15] [--bits=2048] [--fastest] [--check]
 *
 * Without --bits it measures all lengths; to make keys of more than 4096 bits
 * takes a minute.
 *
 * The three take turns; a row has the medians of the operations per second, and
 * the median, the least and the most of the rounds' ratios. Time is the CPU
 * time of the thread. --mb is the library's file; without it that column is 0.
 * With --check it is checks of eight results by the public exponent 65537 that
 * are measured instead (warprsa_ifma_check()), beside libcrypto's public
 * operation; of the lengths up to 4096 bits.
 *
 * With --fastest a rate is that of the fastest batch of all rounds, and the
 * ratio that of these rates: other work on the machine disturbs it less.
 */
#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/rand.h>
#include <openssl/rsa.h>

#include "bench/programs/spread.h"
#include "gpu/engine.h"
#include "tests/unit/support/gpu_keys.h"

enum {
    LANES = 8,
    MB_NUMBERS = 5,
    ROUNDS_MAX = 1000,
    ROUND_MS = 20, /* of each, about */
    CHECKED_BITS_MAX = 4096,
};

/* mbx_rsa_private_crt_ssl_mb8(): from, to, p, q, dp, dq, qinv, bits. */
typedef unsigned (*mb_fn)(const uint8_t *const *, uint8_t *const *,
                          const BIGNUM *const *, const BIGNUM *const *,
                          const BIGNUM *const *, const BIGNUM *const *,
                          const BIGNUM *const *, int);

typedef struct subject {
    const warprsa_engine *engine;
    warprsa_device *device;
    mb_fn mb;
    EVP_PKEY_CTX *libcrypto, *libcrypto_public;
    warprsa_ifma_public_key *public_key;
    made_key key;
    int bits;
    warprsa_size_class size;
    uint8_t input[LANES][WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[LANES][WARPRSA_MODULUS_BYTES_MAX];
} subject;

static void check(int right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "ifma_rate: %s\n", what);
    exit(1);
}

static int give_random(void *arg, void *out, size_t len)
{
    (void)arg;
    return RAND_bytes(out, (int)len);
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void by_ifma(subject *s)
{
    warprsa_task tasks[LANES];

    for (int i = 0; i < LANES; i++)
        tasks[i] = (warprsa_task){
            .key = s->key.index, .input = s->input[i], .output = s->output[i]};
    check(s->engine->start(s->device, 0, s->size, tasks, LANES) == WARPRSA_OK &&
              s->engine->wait(s->device, 0, 1000) == WARPRSA_OK,
          "the engine failed");
    for (int i = 0; i < LANES; i++)
        check(tasks[i].status == WARPRSA_OK, "a task of the engine failed");
}

static void by_mb(subject *s)
{
    static const rsa_number which[MB_NUMBERS] = {NUMBER_P, NUMBER_Q, NUMBER_DP,
                                                 NUMBER_DQ, NUMBER_QINV};
    const BIGNUM *number[MB_NUMBERS][LANES];
    const uint8_t *from[LANES];
    uint8_t *to[LANES];

    for (int i = 0; i < LANES; i++) {
        from[i] = s->input[i];
        to[i] = s->output[i];
        for (int j = 0; j < MB_NUMBERS; j++)
            number[j][i] = s->key.numbers.value[which[j]];
    }
    check(s->mb(from, to, number[0], number[1], number[2], number[3], number[4],
                s->bits) == 0,
          "crypto_mb failed");
}

static void by_libcrypto(subject *s)
{
    for (int i = 0; i < LANES; i++) {
        size_t length = WARPRSA_MODULUS_BYTES_MAX;

        check(EVP_PKEY_decrypt(s->libcrypto, s->output[i], &length, s->input[i],
                               (size_t)s->bits / 8) == 1,
              "libcrypto failed");
    }
}

static void check_by_ifma(subject *s)
{
    warprsa_ifma_result results[LANES];

    for (int i = 0; i < LANES; i++)
        results[i] = (warprsa_ifma_result){
            .key = s->public_key, .input = s->input[i], .output = s->output[i]};
    warprsa_ifma_check(results, LANES);
    for (int i = 0; i < LANES; i++)
        check(results[i].is_right, "a right result is refused");
}

static void check_by_libcrypto(subject *s)
{
    for (int i = 0; i < LANES; i++) {
        uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
        size_t length = sizeof(input);

        check(EVP_PKEY_encrypt(s->libcrypto_public, input, &length,
                               s->output[i], (size_t)s->bits / 8) == 1 &&
                  memcmp(input, s->input[i], length) == 0,
              "libcrypto refuses a right result");
    }
}

/* Operations per second, in turns that take about ROUND_MS; with `fastest` in
 * the shortest of them. */
static double rate_of(void (*operate)(subject *), subject *s, int fastest)
{
    const double begin = cpu_seconds();
    double now = begin, shortest = 1e9;
    unsigned done = 0;

    while (now - begin < ROUND_MS * 1e-3) {
        const double before = now;

        operate(s);
        done += LANES;
        now = cpu_seconds();
        if (now - before < shortest)
            shortest = now - before;
    }
    return fastest ? LANES / shortest : done / (now - begin);
}

/* A new key of so many bits, in each of the three. */
static void use_key(subject *s, int bits)
{
    warprsa_private_key *key = &s->key.key;
    EVP_PKEY *pkey;

    check(made_key_random(&s->key, (size_t)bits), "no key");
    pkey = rsa_numbers_import(&s->key.numbers, NULL);
    check(pkey != NULL, "libcrypto refuses the key's numbers");
    s->bits = bits;
    s->size = (warprsa_size_class)warprsa_key_class(key);
    check(s->engine->load_key(s->device, key, &s->key.index) == WARPRSA_OK,
          "the engine refuses the key");
    if (bits <= CHECKED_BITS_MAX)
        check(warprsa_ifma_public_key_new(key, &s->public_key) == WARPRSA_OK,
              "the public key is refused");
    s->libcrypto_public = EVP_PKEY_CTX_new(pkey, NULL);
    check(s->libcrypto_public != NULL &&
              EVP_PKEY_encrypt_init(s->libcrypto_public) == 1 &&
              EVP_PKEY_CTX_set_rsa_padding(s->libcrypto_public,
                                           RSA_NO_PADDING) == 1,
          "libcrypto refuses the public key");
    s->libcrypto = EVP_PKEY_CTX_new(pkey, NULL);
    check(s->libcrypto != NULL && EVP_PKEY_decrypt_init(s->libcrypto) == 1 &&
              EVP_PKEY_CTX_set_rsa_padding(s->libcrypto, RSA_NO_PADDING) == 1,
          "libcrypto refuses the key");
    for (int i = 0; i < LANES; i++) {
        check(RAND_bytes(s->input[i], bits / 8) == 1, "no random bytes");
        s->input[i][0] = 0;
    }
    EVP_PKEY_free(pkey);
}

static void drop_key(subject *s)
{
    EVP_PKEY_CTX_free(s->libcrypto);
    EVP_PKEY_CTX_free(s->libcrypto_public);
    warprsa_ifma_public_key_free(s->public_key);
    s->public_key = NULL;
    s->engine->unload_key(s->device, s->key.index);
    made_key_free(&s->key);
}

static void measure(subject *s, size_t rounds, int fastest, int checks)
{
    void (*const of_ifma)(subject *) = checks ? check_by_ifma : by_ifma;
    void (*const of_libcrypto)(subject *) =
        checks ? check_by_libcrypto : by_libcrypto;
    static double ifma[ROUNDS_MAX], mb[ROUNDS_MAX], libcrypto[ROUNDS_MAX];
    static double ratio[ROUNDS_MAX];
    uint8_t expected[LANES][WARPRSA_MODULUS_BYTES_MAX];
    spread r;

    by_libcrypto(s);
    memcpy(expected, s->output, sizeof(expected));
    memset(s->output, 0, sizeof(s->output));
    by_ifma(s);
    for (int i = 0; i < LANES; i++)
        check(memcmp(expected[i], s->output[i], (size_t)s->bits / 8) == 0,
              "the engine's result is not libcrypto's");
    for (size_t i = 0; i < rounds; i++) {
        ifma[i] = rate_of(of_ifma, s, fastest);
        mb[i] = s->mb != NULL ? rate_of(by_mb, s, fastest) : 0;
        libcrypto[i] = rate_of(of_libcrypto, s, fastest);
        ratio[i] = s->mb != NULL ? ifma[i] / mb[i] : 0;
    }
    r = spread_of(ratio, rounds);
    if (fastest) {
        const double best = spread_of(ifma, rounds).most;
        const double best_mb = spread_of(mb, rounds).most;

        printf("%d,%.0f,%.0f,%.0f,%.3f,,\n", s->bits, best, best_mb,
               spread_of(libcrypto, rounds).most,
               best_mb > 0 ? best / best_mb : 0);
    } else {
        printf("%d,%.0f,%.0f,%.0f,%.3f,%.3f,%.3f\n", s->bits,
               spread_of(ifma, rounds).median, spread_of(mb, rounds).median,
               spread_of(libcrypto, rounds).median, r.median, r.least, r.most);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"mb", required_argument, NULL, 'm'},
        {"rounds", required_argument, NULL, 'r'},
        {"bits", required_argument, NULL, 'b'},
        {"fastest", no_argument, NULL, 'f'},
        {"check", no_argument, NULL, 'c'},
        {0}};
    static const int lengths[] = {1024, 2048, 3072, 4096, 6144, 7680, 8192};
    static subject s;
    const warprsa_device_config config = {
        .streams = 1, .batch_max = LANES, .keys_max = 1, .random = give_random};
    const char *library = NULL;
    int rounds = 15, only = 0, fastest = 0, checks = 0, option;
    char why[160] = "";

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        check(option != '?', "see the head of ifma_rate.c");
        if (option == 'm')
            library = optarg;
        else if (option == 'f')
            fastest = 1;
        else if (option == 'c')
            checks = 1;
        else
            *(option == 'r' ? &rounds : &only) = atoi(optarg);
    }
    check(!checks || library == NULL, "--check: crypto_mb checks nothing");
    check(rounds >= 1 && rounds <= ROUNDS_MAX, "--rounds: 1 to 1000");
    if (library != NULL) {
        void *handle = dlopen(library, RTLD_NOW);

        check(handle != NULL, dlerror());
        *(void **)&s.mb = dlsym(handle, "mbx_rsa_private_crt_ssl_mb8");
        check(s.mb != NULL, "--mb: no mbx_rsa_private_crt_ssl_mb8() in it");
    }
    s.engine = warprsa_engine_ifma();
    check(s.engine->open(&config, &s.device, why, sizeof(why)) == WARPRSA_OK,
          why);
    puts("bits,ifma/s,crypto_mb/s,libcrypto/s,ifma/crypto_mb,least,most");
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        if ((only == 0 || only == lengths[i]) &&
            (!checks || lengths[i] <= CHECKED_BITS_MAX)) {
            use_key(&s, lengths[i]);
            measure(&s, (size_t)rounds, fastest, checks);
            drop_key(&s);
        }
    s.engine->close(s.device);
    return 0;
}
