/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sessions need of libcrypto, with a real vault: whole uses and the ends
 * of others on its threads, for many users, late, and more than one user may
 * have.
 */
#include "tests/unit/support/unit_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/rsa.h>

#include "batching/base/container_of.h"
#include "batching/daemon/server/libcrypto_uses.h"
#include "batching/vault/vault_reading.h"
#include "tests/unit/support/vault_keys.h"
#include "tests/unit/support/wait_until.h"

enum {
    BYTES = 128,
    OWNERS = 2000, /* more than are kept once they are idle */
    WAITING_MAX = 4096,
    CROWD = WAITING_MAX + 512, /* with those that threads have taken */
};

static EVP_PKEY *numbers;
static warprsa_vault *vault;
static warprsa_vault_key *key;
static warprsa_libcrypto_uses *uses;
static const warprsa_use_operations *operations;

/* ---- tasks ---- */

typedef struct job {
    warprsa_use_task task;
    warprsa_key_use use;
    uint8_t input[BYTES], power[BYTES], answer[BYTES];
    atomic_bool done;
} job;

static atomic_bool held; /* threads wait once they have done a task */
static atomic_uint done_count;

static void done(warprsa_use_task *task)
{
    job *j = WARPRSA_CONTAINER_OF(task, job, task);

    while (atomic_load(&held))
        usleep(1000);
    atomic_store(&j->done, true);
    atomic_fetch_add(&done_count, 1);
}

static void prepare(job *j, uint64_t owner, warprsa_use_operation operation,
                    warprsa_use_padding padding, unsigned input_bytes)
{
    memset(j, 0, sizeof(*j));
    j->use = (warprsa_key_use){.operation = (uint8_t)operation,
                               .padding = (uint8_t)padding,
                               .input_bytes = (uint16_t)input_bytes};
    if (padding == WARPRSA_PADDING_OAEP) {
        j->use.digest = WARPRSA_DIGEST_SHA1;
        j->use.mgf1_digest = WARPRSA_DIGEST_SHA1;
    }
    j->task = (warprsa_use_task){.owner = owner,
                                 .key = key,
                                 .use = &j->use,
                                 .input = j->input,
                                 .answer = j->answer,
                                 .done = done};
}

static void run(job *j)
{
    assert_null(warprsa_key_use_fault(&j->use, BYTES));
    assert_true(operations->compute(operations->arg, &j->task));
    WAIT_UNTIL(atomic_load(&j->done));
}

/* ---- the vault ---- */

static void no_log(void *arg, int level, const char *line)
{
    (void)arg, (void)level, (void)line;
}

static int set_up(void **state)
{
    static warprsa_key_numbers of;
    warprsa_vault_reading reading;

    numbers = vault_keys_make("RSA", 8 * BYTES, 2);
    vault_keys_numbers(&of, numbers);
    vault = warprsa_vault_new(no_log, NULL);
    assert_non_null(vault);
    warprsa_vault_reading_init(&reading, warprsa_vault_means_of(vault));
    assert_true(warprsa_vault_reading_add(&reading, "www", &of));
    assert_true(warprsa_vault_replace(vault, &reading));
    key = warprsa_vault_find_name(vault, "www");
    assert_non_null(key);
    return 0;
}

static int tear_down(void **state)
{
    warprsa_vault_key_release(key);
    warprsa_vault_free(vault);
    EVP_PKEY_free(numbers);
    return 0;
}

static int begin(void **state)
{
    const unsigned *deadline_ms = *state;

    atomic_store(&held, false);
    atomic_store(&done_count, 0);
    uses = warprsa_libcrypto_uses_new(
        deadline_ms != NULL ? *deadline_ms : LONG_MS, NULL);
    assert_non_null(uses);
    operations = warprsa_libcrypto_uses_operations(uses);
    return 0;
}

static int end(void **state)
{
    warprsa_libcrypto_uses_free(uses);
    return 0;
}

/* A signature, by a thread alone, or padded for the engine. */
TEST_IN(signatures, begin, end)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(numbers, NULL);
    uint8_t number[BYTES];
    warprsa_use_errors errors;
    unsigned length = 0;
    job j, raw;

    prepare(&j, 1, WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 20);
    run(&j);
    assert_true(j.task.has_answer && !j.task.is_late);
    assert_int_equal(j.task.length, BYTES);
    assert_int_equal(EVP_PKEY_verify_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING), 1);
    assert_int_equal(EVP_PKEY_verify(ctx, j.answer, BYTES, j.input, 20), 1);
    EVP_PKEY_CTX_free(ctx);

    assert_true(operations->encode(key, &j.use, j.input, number, &errors));
    prepare(&raw, 1, WARPRSA_USE_SIGN, WARPRSA_PADDING_NONE, BYTES);
    memcpy(raw.input, number, BYTES);
    run(&raw);
    assert_true(operations->is_quick(&j.use));
    assert_true(operations->finish(key, &j.use, number, raw.answer, raw.power,
                                   &length, &errors));
    assert_int_equal(length, BYTES);
    assert_memory_equal(raw.power, j.answer, BYTES);
}

static void encrypt(const char *message, uint8_t *out)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new(numbers, NULL);
    size_t length = BYTES;

    assert_int_equal(EVP_PKEY_encrypt_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING),
                     1);
    assert_int_equal(EVP_PKEY_encrypt(ctx, out, &length,
                                      (const uint8_t *)message,
                                      strlen(message)),
                     1);
    EVP_PKEY_CTX_free(ctx);
}

/* A thread decrypts, or removes the padding of what an engine has computed. */
TEST_IN(decryptions, begin, end)
{
    static const char message[] = "a message";
    job whole, raw, rest;

    prepare(&whole, 1, WARPRSA_USE_DECRYPT, WARPRSA_PADDING_OAEP, BYTES);
    encrypt(message, whole.input);
    run(&whole);
    assert_true(whole.task.has_answer);
    assert_int_equal(whole.task.length, strlen(message));
    assert_memory_equal(whole.answer, message, strlen(message));

    prepare(&raw, 1, WARPRSA_USE_DECRYPT, WARPRSA_PADDING_NONE, BYTES);
    memcpy(raw.input, whole.input, BYTES);
    run(&raw);
    assert_true(raw.task.has_answer);
    prepare(&rest, 1, WARPRSA_USE_DECRYPT, WARPRSA_PADDING_OAEP, BYTES);
    memcpy(rest.input, whole.input, BYTES);
    memcpy(rest.power, raw.answer, BYTES);
    rest.task.power = rest.power;
    run(&rest);
    assert_true(rest.task.has_answer);
    assert_int_equal(rest.task.length, strlen(message));
    assert_memory_equal(rest.answer, message, strlen(message));
}

/* libcrypto's errors are the task's. */
TEST_IN(errors, begin, end)
{
    job j;

    prepare(&j, 1, WARPRSA_USE_DECRYPT, WARPRSA_PADDING_OAEP, BYTES);
    encrypt("a message", j.input);
    j.input[BYTES - 1] ^= 1;
    run(&j);
    assert_false(j.task.has_answer);
    assert_false(j.task.is_late);
    assert_int_equal(j.task.length, 0);
    assert_true(j.task.errors.codes[0] != 0);
}

TEST_IN(many_users, begin, end)
{
    static job jobs[OWNERS];

    for (unsigned i = 0; i < OWNERS; i++) {
        prepare(&jobs[i], i * UINT64_C(0x9e3779b97f4a7c15), WARPRSA_USE_SIGN,
                WARPRSA_PADDING_PKCS1, 20);
        assert_true(operations->compute(operations->arg, &jobs[i].task));
    }
    WAIT_UNTIL(atomic_load(&done_count) == OWNERS);
    for (unsigned i = 0; i < OWNERS; i++)
        assert_true(jobs[i].task.has_answer);
    run((prepare(&jobs[0], 0, WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 20),
         &jobs[0]));
}

/* What a user has too much of is refused, and not that of another user. */
TEST_IN(too_many_of_one_user, begin, end)
{
    static job jobs[CROWD], other;
    unsigned taken = 0;

    atomic_store(&held, true);
    while (taken < CROWD) {
        prepare(&jobs[taken], 1, WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 20);
        if (!operations->compute(operations->arg, &jobs[taken].task))
            break;
        taken++;
    }
    assert_in_range(taken, WAITING_MAX, CROWD - 1);
    prepare(&other, 2, WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 20);
    assert_true(operations->compute(operations->arg, &other.task));
    atomic_store(&held, false);
    WAIT_UNTIL(atomic_load(&done_count) == taken + 1);
}

static unsigned no_ms = 0;

/* A task that has waited too long is late, and no failure. */
TEST_WITH(late, begin, end, &no_ms)
{
    job j;

    prepare(&j, 1, WARPRSA_USE_SIGN, WARPRSA_PADDING_PKCS1, 20);
    run(&j);
    assert_true(j.task.is_late);
    assert_false(j.task.has_answer);
    assert_int_equal(j.task.errors.codes[0], 0);
}

RUN_TESTS(set_up, tear_down)
