/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The contexts of all ways, the outcomes of a call, and their comparison.
 */
#include "tests/unit/support/ways.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "tests/unit/support/vault_daemon.h"

enum {
    OUTPUT_MAX = 4096,
    ERRORS_MAX = 16,
    DAEMON_TRIES = 50,
    MODULUS_BITS_MIN = 1024,
    EXPONENT_BITS_MAX = 64, /* of a key that libcrypto uses */
    CHECKED_BITS_MAX = 8192,
};

static const char *const way_names[WAYS] = {
    "route = cpu", "route = gpu", "route = auto", "mode = daemon", "reference"};
static OSSL_LIB_CTX *contexts[WAYS];

int ways_setup(void **state)
{
    static const char *const settings[WAYS] = {
        [WAY_CPU] = "engine = host\nroute = cpu\n",
        [WAY_GPU] = HOST_ENGINE,
        [WAY_AUTO] = "engine = host\ndeadline_ms = 300000\n",
    };
    char line[256];

    vault_daemon_start();
    for (way w = 0; w < WAY_DAEMON; w++)
        contexts[w] = subject_open(settings[w]);
    snprintf(line, sizeof(line),
             "mode = daemon\nsocket = %s\nroute = gpu\nstartup_ms = 60000\n"
             "deadline_ms = 600000\n",
             vault_daemon_socket());
    contexts[WAY_DAEMON] = subject_open(line);
    contexts[WAY_REFERENCE] = subject_open(HOST_ENGINE);
    return 0;
}

int ways_teardown(void **state)
{
    for (way w = 0; w < WAYS; w++)
        OSSL_LIB_CTX_free(contexts[w]);
    return vault_daemon_stop();
}

/* ---- keys ---- */

/* Where the CPU computes, our KEYMGMT has the key; else the default provider's
 * has it, and ours gets it at the first operation. */
static EVP_PKEY *import(way w, const char *type, const OSSL_PARAM *params)
{
    const char *query =
        w == WAY_CPU || w == WAY_AUTO ? "provider=warprsa" : "provider=default";
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(contexts[w], type, query);
    EVP_PKEY *key = NULL;

    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_KEYPAIR, (OSSL_PARAM *)params),
        1);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* Whether the vault has to take a key. */
static bool is_for_vault(EVP_PKEY *key)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
    BIGNUM *e = NULL;
    bool sound = false;

    ERR_set_mark();
    sound = EVP_PKEY_get_bits(key) >= MODULUS_BITS_MIN &&
            EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &e) == 1 &&
            BN_num_bits(e) <= EXPONENT_BITS_MAX && EVP_PKEY_check(ctx) == 1;
    ERR_pop_to_mark();
    BN_free(e);
    EVP_PKEY_CTX_free(ctx);
    return sound;
}

/* Puts the key into the vault, unless PEM has no form for it, or it is so long
 * that to check it would take too much time. */
static void add_to_vault(ways_key *key)
{
    BIGNUM *p = NULL;

    ERR_set_mark();
    key->is_in_vault =
        vault_daemon_has_vault() &&
        EVP_PKEY_get_bits(key->oracle) <= CHECKED_BITS_MAX &&
        EVP_PKEY_get_bn_param(key->oracle, OSSL_PKEY_PARAM_RSA_FACTOR1, &p);
    ERR_pop_to_mark();
    BN_clear_free(p);
    if (!key->is_in_vault)
        return;
    key->of[WAY_REFERENCE] = vault_daemon_reference(
        contexts[WAY_REFERENCE], key->oracle, &key->vault_number);
    assert_true(key->of[WAY_REFERENCE] != NULL || !is_for_vault(key->oracle));
}

ways_key ways_key_of(const char *name, bool by_engine, EVP_PKEY *oracle)
{
    ways_key key = {.name = name, .by_engine = by_engine, .oracle = oracle};
    OSSL_PARAM *params = NULL;

    assert_non_null(oracle);
    assert_int_equal(EVP_PKEY_todata(oracle, EVP_PKEY_KEYPAIR, &params), 1);
    for (way w = 0; w < WAY_REFERENCE; w++)
        key.of[w] = import(
            w, EVP_PKEY_is_a(oracle, "RSA-PSS") ? "RSA-PSS" : "RSA", params);
    OSSL_PARAM_free(params);
    add_to_vault(&key);
    return key;
}

ways_key ways_key_from(const char *name, bool by_engine,
                       const rsa_numbers *numbers)
{
    return ways_key_of(name, by_engine, rsa_numbers_import(numbers, NULL));
}

void ways_key_free(ways_key *key)
{
    if (key->is_in_vault)
        vault_daemon_remove(key->vault_number);
    EVP_PKEY_free(key->oracle);
    for (way w = 0; w < WAYS; w++)
        EVP_PKEY_free(key->of[w]);
}

/* ---- calls ---- */

typedef struct outcome {
    int result;
    size_t length;
    unsigned char output[OUTPUT_MAX];
    unsigned errors;
    unsigned long error[ERRORS_MAX];
} outcome;

/* All of the queue's errors, without the place that raised them. */
static void take_errors(outcome *o)
{
    unsigned long error = 0;

    while ((error = ERR_get_error()) != 0) {
        assert_true(o->errors < ERRORS_MAX);
        o->error[o->errors++] = error;
    }
}

static int set_up_call(EVP_PKEY_CTX *ctx, const ways_call *call)
{
    OSSL_PARAM params[4], *end = params;
    int padding = call->padding;
    const char *digest = call->what == WAYS_DECRYPT
                             ? OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST
                             : OSSL_SIGNATURE_PARAM_DIGEST;

    if (padding != 0)
        *end++ =
            OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PAD_MODE, &padding);
    if (call->digest != NULL && call->what != WAYS_DIGEST_SIGN)
        *end++ =
            OSSL_PARAM_construct_utf8_string(digest, (char *)call->digest, 0);
    if (call->salt != NULL)
        *end++ = OSSL_PARAM_construct_utf8_string(
            OSSL_SIGNATURE_PARAM_PSS_SALTLEN, (char *)call->salt, 0);
    *end = OSSL_PARAM_construct_end();
    return EVP_PKEY_CTX_set_params(ctx, params);
}

static void digest_sign(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                        const ways_call *call, const unsigned char *input,
                        size_t length, outcome *o)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *ctx = NULL;

    o->result = EVP_DigestSignInit_ex(md, &ctx, call->digest, libctx, NULL, key,
                                      NULL) == 1 &&
                        set_up_call(ctx, call) == 1
                    ? EVP_DigestSign(md, o->output, &o->length, input, length)
                    : -10;
    EVP_MD_CTX_free(md);
}

static void plain_call(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                       const ways_call *call, const unsigned char *input,
                       size_t length, outcome *o)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    int (*begin)(EVP_PKEY_CTX *) = EVP_PKEY_sign_init;
    int (*end)(EVP_PKEY_CTX *, unsigned char *, size_t *, const unsigned char *,
               size_t) = EVP_PKEY_sign;

    if (call->what == WAYS_DECRYPT) {
        begin = EVP_PKEY_decrypt_init;
        end = EVP_PKEY_decrypt;
    } else if (call->what == WAYS_RECOVER) {
        begin = EVP_PKEY_verify_recover_init;
        end = EVP_PKEY_verify_recover;
    }
    o->result = begin(ctx) == 1 && set_up_call(ctx, call) == 1
                    ? end(ctx, o->output, &o->length, input, length)
                    : -10;
    EVP_PKEY_CTX_free(ctx);
}

static outcome outcome_of(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                          const ways_call *call, const unsigned char *input,
                          size_t length)
{
    outcome o = {.length = call->room != 0 ? call->room : OUTPUT_MAX};

    ERR_clear_error();
    if (call->what == WAYS_DIGEST_SIGN)
        digest_sign(libctx, key, call, input, length, &o);
    else
        plain_call(libctx, key, call, input, length, &o);
    take_errors(&o);
    return o;
}

/* Whether the default provider takes a signature whose value is random. */
static bool verifies(const ways_key *key, const ways_call *call,
                     const unsigned char *input, size_t length,
                     const outcome *o)
{
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *ctx = NULL;
    ways_call verified = *call;
    int ok = 0;

    verified.salt = "auto";
    if (call->what == WAYS_DIGEST_SIGN) {
        ok = EVP_DigestVerifyInit_ex(md, &ctx, call->digest, NULL, NULL,
                                     key->oracle, NULL) == 1 &&
             set_up_call(ctx, &verified) == 1 &&
             EVP_DigestVerify(md, o->output, o->length, input, length) == 1;
    } else {
        ctx = EVP_PKEY_CTX_new_from_pkey(NULL, key->oracle, NULL);
        ok = EVP_PKEY_verify_init(ctx) == 1 &&
             set_up_call(ctx, &verified) == 1 &&
             EVP_PKEY_verify(ctx, o->output, o->length, input, length) == 1;
        EVP_PKEY_CTX_free(ctx);
    }
    EVP_MD_CTX_free(md);
    return ok;
}

/* ---- comparing ---- */

static bool same_value(const outcome *a, const outcome *b)
{
    return a->length == b->length &&
           memcmp(a->output, b->output, a->length) == 0;
}

static bool is_same(const outcome *a, const outcome *b, bool is_random)
{
    if (a->result != b->result || a->errors != b->errors ||
        memcmp(a->error, b->error, sizeof(a->error)) != 0)
        return false;
    return a->result != 1 ||
           (is_random ? a->length == b->length : same_value(a, b));
}

static void print_outcome(const char *who, const outcome *o)
{
    print_error("%s: %d, %zu bytes, beginning %02x %02x\n", who, o->result,
                o->length, o->output[0], o->output[1]);
    for (unsigned i = 0; i < o->errors; i++)
        print_error("    %s\n", ERR_error_string(o->error[i], NULL));
}

static void fail_because(const char *why, const ways_key *key,
                         const ways_call *call, const unsigned char *input,
                         size_t length, way w)
{
    print_error("%s: key \"%s\", call %d, padding %d, digest %s, salt %s, "
                "%zu bytes of input, beginning %02x and ending %02x, %s\n",
                why, key->name, (int)call->what, call->padding,
                call->digest != NULL ? call->digest : "none",
                call->salt != NULL ? call->salt : "default", length,
                length > 0 ? input[0] : 0, length > 0 ? input[length - 1] : 0,
                way_names[w]);
}

/* A success is one private operation; a failure may have come before or after
 * it. */
static bool counted_right(const ways_key *key, way w, bool success,
                          uint64_t gpu, uint64_t cpu)
{
    bool on_engine = key->by_engine &&
                     (w == WAY_GPU || w == WAY_DAEMON || w == WAY_REFERENCE) &&
                     cpu == 0;
    bool on_cpu = (!key->by_engine || w == WAY_CPU) && gpu == 0;

    if (gpu + cpu > 1 || (success && gpu + cpu != 1))
        return false;
    return on_engine || on_cpu || (key->by_engine && w == WAY_AUTO);
}

/* Whether our provider recovers from a signature what the default one does. */
static bool recovers_alike(const ways_key *key, const ways_call *call, way w,
                           const outcome *signature)
{
    ways_call recovery = *call;
    outcome ours, theirs;

    recovery.what = WAYS_RECOVER;
    recovery.room = 0;
    ours = outcome_of(contexts[w], key->of[w], &recovery, signature->output,
                      signature->length);
    theirs = outcome_of(NULL, key->oracle, &recovery, signature->output,
                        signature->length);
    return is_same(&ours, &theirs, false);
}

/* Computed by libcrypto, wherever. */
static uint64_t by_libcrypto(way w)
{
    return counter_of(contexts[w], w == WAY_REFERENCE
                                       ? "warprsa-vault-libcrypto"
                                       : "warprsa-cpu");
}

/* The outcome, and where it was computed. A daemon that finds no CPU for some
 * 40 ms leaves an operation to its client, and for a while those after it: then
 * it is tried again. */
static outcome outcome_counted(const ways_key *key, const ways_call *call,
                               const unsigned char *input, size_t length, way w,
                               uint64_t *gpu, uint64_t *cpu)
{
    const struct timespec pause = {0, 200000000};
    OSSL_LIB_CTX *libctx = contexts[w];

    for (unsigned left = DAEMON_TRIES;; left--) {
        const uint64_t gpu_before = counter_of(libctx, "warprsa-gpu");
        const uint64_t cpu_before = by_libcrypto(w);
        outcome got = outcome_of(libctx, key->of[w], call, input, length);

        *gpu = counter_of(libctx, "warprsa-gpu") - gpu_before;
        *cpu = by_libcrypto(w) - cpu_before;
        if (w < WAY_DAEMON || !key->by_engine || *cpu == 0 || left == 0)
            return got;
        nanosleep(&pause, NULL);
    }
}

static void compare_way(const ways_key *key, const ways_call *call,
                        const unsigned char *input, size_t length, way w,
                        const outcome *expected, bool is_random)
{
    uint64_t gpu, cpu;
    outcome got = outcome_counted(key, call, input, length, w, &gpu, &cpu);

    if (!is_same(&got, expected, is_random)) {
        fail_because("not as by default", key, call, input, length, w);
        print_outcome("default", expected);
        print_outcome("warprsa", &got);
        fail();
    }
    if (!counted_right(key, w, got.result == 1, gpu, cpu)) {
        fail_because("counted wrongly", key, call, input, length, w);
        fail_msg("%d on the device, %d on the CPU", (int)gpu, (int)cpu);
    }
    if (got.result == 1 && call->what == WAYS_SIGN &&
        !recovers_alike(key, call, w, &got)) {
        fail_because("recovered otherwise", key, call, input, length, w);
        fail();
    }
    if (got.result == 1 && call->padding == RSA_PKCS1_PSS_PADDING &&
        verifies(key, call, input, length, &got) !=
            verifies(key, call, input, length, expected)) {
        fail_because("does not verify", key, call, input, length, w);
        fail();
    }
}

/* Whether the default provider makes another value each time. A salt of one
 * byte is the same twice in one of 256 times, so PSS is asked more often. */
static bool makes_random_values(const ways_key *key, const ways_call *call,
                                const unsigned char *input, size_t length,
                                const outcome *expected)
{
    const int times = call->padding == RSA_PKCS1_PSS_PADDING ? 5 : 1;

    for (int i = 0; i < times; i++) {
        outcome again = outcome_of(NULL, key->oracle, call, input, length);

        if (!same_value(expected, &again))
            return true;
    }
    return false;
}

int ways_compare(const ways_key *key, const ways_call *call,
                 const unsigned char *input, size_t length)
{
    outcome expected = outcome_of(NULL, key->oracle, call, input, length);
    bool is_random = makes_random_values(key, call, input, length, &expected);

    for (way w = 0; w < WAYS; w++)
        if (key->of[w] != NULL)
            compare_way(key, call, input, length, w, &expected, is_random);
    return expected.result;
}
