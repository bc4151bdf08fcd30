/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests whether the CPU time of the provider's own paths depends on what is
 * padded or decrypted: host_timing --help.
 *
 * What is timed is the calling thread's CPU time in one call of
 * EVP_PKEY_decrypt() or EVP_PKEY_sign(). That is everything around the private
 * operation if an engine computes it, and libcrypto's computation as well if it
 * stays on the CPU. Plaintexts of zeros, a fixed one and random ones come in
 * random order. They have the same public length. The times of the first two
 * are compared with those of random ones (welch.h).
 *
 * "control" leaks on purpose: it looks for the first byte of a raw decryption
 * that is not zero. A test that does not find that leak shows nothing.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include "bench/programs/welch.h"
#include "tests/unit/support/module_context.h"

enum {
    BYTES_MAX = 512,
    MESSAGE_BYTES = 32,
    SAMPLES_MAX = 1000000,
    WARM_UP = 200,
    CONTROL_TURNS = 64,
};

typedef enum plaintext {
    ZEROS,
    FIXED,
    RANDOM,
    PLAINTEXTS
} plaintext;

static const char *const labels[PLAINTEXTS] = {"zeros", "fixed", "random"};

typedef struct path {
    const char *name;
    int padding;
    bool signs, leaks;
} path;

static const path paths[] = {
    {"raw-decrypt", RSA_NO_PADDING, false, false},
    {"pkcs1-decrypt", RSA_PKCS1_PADDING, false, false},
    {"oaep-decrypt", RSA_PKCS1_OAEP_PADDING, false, false},
    {"raw-sign", RSA_NO_PADDING, true, false},
    {"pkcs1-sign", RSA_PKCS1_PADDING, true, false},
    {"control", RSA_NO_PADDING, false, true},
};

typedef struct subject {
    const path *path;
    const char *route;
    size_t bits, samples;
    module_context module;
    EVP_PKEY_CTX *operation; /* through the provider */
    EVP_PKEY_CTX *encrypt;   /* by the default provider */
    uint8_t fixed[BYTES_MAX];
} subject;

static const char help[] =
    "usage: host_timing --path=NAME [OPTION...]\n"
    "  --path=NAME     one that --list prints\n"
    "  --route=ROUTE   the provider's route: gpu or cpu (cpu)\n"
    "  --bits=N        size of RSA (2048)\n"
    "  --samples=N     operations with each kind of plaintext (10000)\n"
    "  --list          print the paths' names\n"
    "Exit status 1: a |t| is 4.5 or more; 2: nothing could be measured.\n"
    "BUILD_DIR: where the module is. WARPRSA_TEST_ENGINE: with --route=gpu, "
    "host\n"
    "(unless set) or cuda.\n";

static void __attribute__((noreturn)) fail(const char *what)
{
    fprintf(stderr, "host_timing: %s\n", what);
    exit(2);
}

static void list_paths(void)
{
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        puts(paths[i].name);
    exit(EXIT_SUCCESS);
}

static const path *find_path(const char *name)
{
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        if (strcmp(paths[i].name, name) == 0)
            return &paths[i];
    fail("--path: a name that --list prints is wanted");
}

static size_t number(const char *text, size_t most)
{
    char *end = NULL;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || value == 0 ||
        value > most)
        fail("a number is wanted; see --help");
    return value;
}

static void parse(subject *s, int argc, char **argv)
{
    static const struct option names[] = {
        {"path", required_argument, NULL, 'p'},
        {"route", required_argument, NULL, 'r'},
        {"bits", required_argument, NULL, 'b'},
        {"samples", required_argument, NULL, 's'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'p')
            s->path = find_path(optarg);
        else if (c == 'r')
            s->route = optarg;
        else if (c == 'b')
            s->bits = number(optarg, 8 * BYTES_MAX);
        else if (c == 's')
            s->samples = number(optarg, SAMPLES_MAX);
        else if (c == 'l')
            list_paths();
        else if (c == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    if (optind != argc || s->path == NULL)
        fail("--path is wanted, and options alone; see --help");
    if (strcmp(s->route, "cpu") != 0 && strcmp(s->route, "gpu") != 0)
        fail("--route: gpu or cpu is wanted");
}

/* The length of what is padded, or of a number as long as the modulus. */
static size_t plaintext_bytes(const subject *s)
{
    return s->path->padding == RSA_NO_PADDING ? s->bits / 8 : MESSAGE_BYTES;
}

/* A random plaintext. As a number it is below every modulus of its length. */
static void randomize(const subject *s, uint8_t *out)
{
    if (RAND_bytes(out, (int)plaintext_bytes(s)) != 1)
        fail("no random bytes");
    out[0] &= 0x3f;
}

static EVP_PKEY_CTX *context_of(const subject *s, OSSL_LIB_CTX *libctx,
                                EVP_PKEY *key, int (*init)(EVP_PKEY_CTX *))
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);

    if (ctx == NULL || init(ctx) <= 0 ||
        EVP_PKEY_CTX_set_rsa_padding(ctx, s->path->padding) <= 0)
        fail("no context of the key");
    return ctx;
}

static void subject_open(subject *s)
{
    char settings[64];
    EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", s->bits);

    snprintf(settings, sizeof(settings), "route = %s", s->route);
    if (key == NULL ||
        !module_context_open(&s->module, module_context_engine(), settings))
        fail("no key, or no provider");
    s->operation =
        context_of(s, s->module.libctx, key,
                   s->path->signs ? EVP_PKEY_sign_init : EVP_PKEY_decrypt_init);
    s->encrypt = context_of(s, NULL, key, EVP_PKEY_encrypt_init);
    randomize(s, s->fixed);
    EVP_PKEY_free(key);
}

/* Whether the provider did the operations, and where it should. */
static void subject_close(subject *s, size_t operations)
{
    uint64_t done;

    EVP_PKEY_CTX_free(s->operation);
    EVP_PKEY_CTX_free(s->encrypt);
    if (!module_context_close(&s->module))
        fail("the provider left no counters");
    done = module_context_counter(&s->module, s->route);
    if (done < operations || done == UINT64_MAX)
        fail("the provider did not do the operations on that route");
}

/* What is given to the operation: a plaintext to sign, or one encrypted. */
static size_t make_input(subject *s, plaintext kind, uint8_t *in)
{
    uint8_t text[BYTES_MAX] = {0};
    size_t length = BYTES_MAX;

    /* Always, so that all kinds find the same in the caches. */
    randomize(s, text);
    if (kind == FIXED)
        memcpy(text, s->fixed, sizeof(text));
    else if (kind == ZEROS)
        memset(text, 0, sizeof(text));
    /* Zero is no usual number: raw RSA maps it to itself. */
    text[plaintext_bytes(s) - 1] |= 2;
    if (s->path->signs) {
        memcpy(in, text, plaintext_bytes(s));
        return plaintext_bytes(s);
    }
    if (EVP_PKEY_encrypt(s->encrypt, in, &length, text, plaintext_bytes(s)) <=
        0)
        fail("an encryption failed");
    return length;
}

static double thread_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The leak of "control": as large as that of some careless conversions. */
static void skip_zeros(const uint8_t *bytes, size_t length)
{
    for (unsigned turn = 0; turn < CONTROL_TURNS; turn++) {
        volatile unsigned zeros = 0;

        while (zeros < length && bytes[zeros] == 0)
            zeros++;
    }
}

/* The time of one operation in microseconds. */
static double run(subject *s, plaintext kind)
{
    uint8_t in[BYTES_MAX], out[BYTES_MAX];
    size_t in_length = make_input(s, kind, in), length = sizeof(out);
    double begin = thread_us();
    int ok = s->path->signs
                 ? EVP_PKEY_sign(s->operation, out, &length, in, in_length)
                 : EVP_PKEY_decrypt(s->operation, out, &length, in, in_length);

    if (s->path->leaks)
        skip_zeros(out, length);
    if (ok <= 0)
        fail("an operation failed");
    return thread_us() - begin;
}

static int report(const subject *s, const double *us, const uint8_t *kind,
                  double *scratch, size_t count)
{
    moments of[PLAINTEXTS] = {{0}};
    int leaks = 0;

    moments_of_kinds(of, us, kind, scratch, count);
    for (int i = 0; i < RANDOM; i++) {
        double t = welch_t(&of[i], &of[RANDOM]);

        leaks |= !welch_passes(t);
        printf("%-14s %5zu %-5s %-6s %7.0f %10.3f %10.3f %+9.4f%% %8.2f  %s\n",
               s->path->name, s->bits, s->route, labels[i], of[i].count,
               of[i].mean, of[RANDOM].mean,
               100 * (of[i].mean / of[RANDOM].mean - 1), t,
               welch_passes(t) ? "no difference seen" : "DIFFERS");
    }
    return leaks;
}

int main(int argc, char **argv)
{
    static subject s = {.route = "cpu", .bits = 2048, .samples = 10000};
    double *us;
    uint8_t *kind;
    size_t count;
    int leaks;

    parse(&s, argc, argv);
    count = s.samples * PLAINTEXTS;
    us = calloc(count, 2 * sizeof(*us));
    kind = calloc(count, sizeof(*kind));
    if (us == NULL || kind == NULL || RAND_bytes(kind, (int)count) != 1)
        fail("no memory");
    subject_open(&s);
    for (size_t i = 0; i < WARM_UP; i++)
        run(&s, (plaintext)(i % PLAINTEXTS));
    for (size_t i = 0; i < count; i++) {
        kind[i] %= PLAINTEXTS;
        us[i] = run(&s, (plaintext)kind[i]);
    }
    leaks = report(&s, us, kind, us + count, count);
    subject_close(&s, count);
    free(us);
    free(kind);
    return leaks;
}
