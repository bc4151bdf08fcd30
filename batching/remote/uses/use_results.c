/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Results of GPU hosts; see use_results.h.
 */
#include "batching/remote/uses/use_results.h"

#include <string.h>

#include "batching/vault/padding.h"
#include "batching/vault/vault_key.h"

/* Whether an answer may have this length. */
static bool is_length(const warprsa_use_task *task, unsigned bytes)
{
    const unsigned size = warprsa_vault_key_modulus_bytes(task->key);

    if (task->use->operation == WARPRSA_USE_SIGN ||
        task->use->padding == WARPRSA_PADDING_NONE)
        return bytes == size;
    if (task->use->padding == WARPRSA_PADDING_TLS)
        return bytes == WARPRSA_TLS_SECRET_BYTES;
    return bytes <= size;
}

static warprsa_use_verdict take_answer(warprsa_use_task *task,
                                       const warprsa_remote_result *result)
{
    if (!is_length(task, result->bytes))
        return WARPRSA_USE_BREACH;
    if (result->bytes > 0)
        memcpy(task->answer, result->output, result->bytes);
    task->length = result->bytes;
    task->has_answer = true;
    return WARPRSA_USE_ENDS;
}

static warprsa_use_verdict take_denial(warprsa_use_task *task,
                                       warprsa_denial denial)
{
    if (denial == WARPRSA_DENIED_NO_KEY)
        return WARPRSA_USE_NO_KEY;
    /* A host of a later version may have reasons that nobody here has words
     * for. */
    task->denial = denial > WARPRSA_ALLOWED && denial < WARPRSA_DENIALS
                       ? denial
                       : WARPRSA_DENIED_OPERATION;
    return WARPRSA_USE_ENDS;
}

static warprsa_use_verdict judge(warprsa_use_task *task,
                                 const warprsa_remote_result *result)
{
    switch (result->status) {
    case WARPRSA_REMOTE_OK:
        return take_answer(task, result);
    case WARPRSA_REMOTE_INVALID:
        /* What is to be signed has been padded here without an error, and a
         * ciphertext without a padding is below the modulus. */
        if (warprsa_use_is_checkable(task->use))
            return WARPRSA_USE_LEAVES;
        task->errors = result->errors;
        return WARPRSA_USE_ENDS;
    case WARPRSA_REMOTE_DENIED:
        return take_denial(task, result->denial);
    case WARPRSA_REMOTE_UNSUPPORTED:
        return WARPRSA_USE_NO_KEY;
    case WARPRSA_REMOTE_FAILED:
        return WARPRSA_USE_LEAVES;
    default:
        return WARPRSA_USE_MOVES;
    }
}

static void throw_away(warprsa_judged_use *one)
{
    warprsa_use_task *task = one->use->task;

    explicit_bzero(task->answer, warprsa_vault_key_modulus_bytes(task->key));
    task->length = 0;
    task->has_answer = false;
    one->verdict = WARPRSA_USE_WRONG;
}

static bool is_checkable(const warprsa_judged_use *one)
{
    return one->verdict == WARPRSA_USE_ENDS && one->use->task->has_answer &&
           warprsa_use_is_checkable(one->use->task->use);
}

/* How an answer is checked. */
typedef enum checking {
    BY_LIBCRYPTO,
    BY_NUMBER, /* it is known which number the answer gives, raised to e */
    BY_HASH,   /* of PSS, whose salt the host has chosen, the hash is known */
} checking;

static checking checking_of(const warprsa_judged_use *one)
{
    const warprsa_verify *verify = one->use->key->verify;

    if (verify == NULL)
        return BY_LIBCRYPTO;
    if (one->use->task->use->padding != WARPRSA_PADDING_PSS)
        return BY_NUMBER;
    return warprsa_verify_can_raise(verify) ? BY_HASH : BY_LIBCRYPTO;
}

/* Whether an answer is of a size class and checked in this way. */
static bool is_of(const warprsa_judged_use *one, checking how, int size)
{
    return is_checkable(one) && checking_of(one) == how &&
           one->use->key->size == size;
}

/* Checks answers eight at a time, which are of one size class. */
static void check_numbers(warprsa_judged_use *judged, size_t count, int size)
{
    warprsa_verify_batch batch = {0};
    warprsa_task tasks[WARPRSA_REMOTE_BATCH_MAX];
    warprsa_judged_use *of[WARPRSA_REMOTE_BATCH_MAX];
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        const warprsa_use_task *task = NULL;

        if (!is_of(&judged[i], BY_NUMBER, size))
            continue;
        task = judged[i].use->task;
        of[used] = &judged[i];
        tasks[used] = (warprsa_task){.input = task->number,
                                     .output = task->answer,
                                     .status = WARPRSA_OK};
        warprsa_verify_add(&batch, judged[i].use->key->verify, &tasks[used++]);
    }
    warprsa_verify_end(&batch);
    for (size_t i = 0; i < used; i++)
        if (tasks[i].status != WARPRSA_OK)
            throw_away(of[i]);
}

/* The powers of up to eight signatures. */
typedef struct powers {
    warprsa_judged_use *of[WARPRSA_IFMA_LANES];
    warprsa_raised raised[WARPRSA_IFMA_LANES];
    uint8_t bytes[WARPRSA_IFMA_LANES][WARPRSA_MODULUS_BYTES_MAX];
    size_t count;
} powers;

static void check_powers(powers *p)
{
    if (p->count == 0)
        return;
    warprsa_verify_raise(p->raised, p->count);
    for (size_t i = 0; i < p->count; i++) {
        const warprsa_use_task *task = p->of[i]->use->task;

        if (!p->raised[i].is_right ||
            !warprsa_padding_verify_power(task->key->padding, task->use,
                                          task->input, p->bytes[i]))
            throw_away(p->of[i]);
    }
    p->count = 0;
}

/* Checks signatures with PSS, eight at a time, which are of one size class. */
static void check_hashes(warprsa_judged_use *judged, size_t count, int size)
{
    powers p;

    p.count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_of(&judged[i], BY_HASH, size))
            continue;
        p.of[p.count] = &judged[i];
        p.raised[p.count] =
            (warprsa_raised){.verify = judged[i].use->key->verify,
                             .output = judged[i].use->task->answer,
                             .power = p.bytes[p.count]};
        if (++p.count == WARPRSA_IFMA_LANES)
            check_powers(&p);
    }
    check_powers(&p);
}

static void check(warprsa_judged_use *judged, size_t count)
{
    uint32_t sizes = 0; /* a bit for each class */

    for (size_t i = 0; i < count; i++) {
        const warprsa_use_task *task = judged[i].use->task;

        if (!is_checkable(&judged[i]))
            continue;
        if (checking_of(&judged[i]) != BY_LIBCRYPTO)
            sizes |= UINT32_C(1) << judged[i].use->key->size;
        else if (!warprsa_padding_verify(task->key->padding, task->use,
                                         task->input, task->answer))
            throw_away(&judged[i]);
    }
    for (int size = 0; size < WARPRSA_CLASSES; size++)
        if ((sizes & UINT32_C(1) << size) != 0) {
            check_numbers(judged, count, size);
            check_hashes(judged, count, size);
        }
}

void warprsa_use_results_judge(warprsa_judged_use *judged, size_t count,
                               bool verify)
{
    for (size_t i = 0; i < count; i++)
        judged[i].verdict = judge(judged[i].use->task, judged[i].result);
    if (verify)
        check(judged, count);
}
