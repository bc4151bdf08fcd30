/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "provider/hook.h"

#include <openssl/async.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>

#include "provider/blinding.h"
#include "provider/context.h"
#include "provider/key.h"
#include "provider/wait.h"

enum {
    /* Longest stay between enter and leave of a process. */
    SLICE_MS = 20,
};

static void count_cpu(warprsa_process *process, int size_class)
{
    warprsa_count(
        &process->counters->cpu[size_class < 0 ? WARPRSA_CLASSES : size_class],
        1);
}

static void count_reason(warprsa_process *process, warprsa_cpu_reason reason)
{
    warprsa_count(&process->counters->cpu_reason[reason], 1);
}

/*
 * The queue, entered, if this operation is to go there; else NULL with the
 * reason counted. `route = gpu` waits for devices that are still opening.
 */
static warprsa_queue *choose(warprsa_context *context, warprsa_process *process)
{
    unsigned route = context->config.route;
    warprsa_cpu_reason reason = WARPRSA_CPU_ROUTE;
    warprsa_queue *queue = NULL;

    while (route != WARPRSA_ROUTE_CPU) {
        warprsa_queue_state state = WARPRSA_QUEUE_DOWN;
        unsigned left = 0;

        queue = warprsa_process_enter(context, process, &reason);
        if (queue == NULL)
            break;
        if (route == WARPRSA_ROUTE_GPU)
            left = warprsa_process_startup_left(context, process);
        state =
            warprsa_queue_wait_ready(queue, left < SLICE_MS ? left : SLICE_MS);
        if (state == WARPRSA_QUEUE_READY &&
            (route == WARPRSA_ROUTE_GPU || ASYNC_get_current_job() != NULL ||
             warprsa_queue_depth(queue) > 0))
            return queue;
        warprsa_process_leave(process);
        if (state == WARPRSA_QUEUE_STARTING && left > 0)
            continue;
        if (state != WARPRSA_QUEUE_READY)
            reason = state == WARPRSA_QUEUE_STARTING ? WARPRSA_CPU_STARTING
                                                     : WARPRSA_CPU_NO_DEVICE;
        break;
    }
    count_reason(process, reason);
    return NULL;
}

/* Computes output = input^d mod n on a device. False: not done, and the reason
 * is counted. */
static bool offload(const warprsa_rsa *ours, const RSA *rsa,
                    warprsa_process *process, const uint8_t *input,
                    uint8_t *output)
{
    warprsa_queue *queue = choose(ours->context, process);
    warprsa_key *key = NULL;
    warprsa_wait *wait = NULL;
    warprsa_ticket ticket;
    warprsa_answer answer = WARPRSA_REFUSED;

    if (queue == NULL)
        return false;
    key = warprsa_rsa_key(rsa, process, queue);
    if (key == NULL) {
        count_reason(process, WARPRSA_CPU_ERROR);
    } else {
        wait = warprsa_wait_new();
        answer = warprsa_queue_submit(queue, key, input,
                                      warprsa_wait_notify(wait), &ticket);
    }
    warprsa_process_leave(process);
    if (answer != WARPRSA_DONE) {
        warprsa_wait_cancel(wait);
        return false;
    }
    return warprsa_wait_answer(wait, process, queue, ticket, output) ==
           WARPRSA_DONE;
}

/* r0 = in^d mod n by the queue, or false. */
static bool offload_number(const warprsa_rsa *ours, const RSA *rsa,
                           warprsa_process *process, const BIGNUM *in,
                           BIGNUM *r0)
{
    const BIGNUM *n = RSA_get0_n(rsa);
    int length = BN_num_bytes(n);
    uint8_t number[WARPRSA_MODULUS_OCTETS_MAX];
    bool ok = false;

    if (BN_ucmp(in, n) >= 0 || BN_bn2binpad(in, number, length) != length)
        count_reason(process, WARPRSA_CPU_KEY);
    else
        ok = offload(ours, rsa, process, number, number) &&
             BN_bin2bn(number, length, r0) != NULL;
    /* The result of a decryption is secret. */
    OPENSSL_cleanse(number, sizeof(number));
    return ok;
}

static int mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa, BN_CTX *bn_ctx)
{
    warprsa_rsa *ours = warprsa_rsa_of(rsa);
    warprsa_context *context = ours->context;
    warprsa_process *process = NULL;

    if (context->testing) {
        context->tested++;
        return warprsa_blinded_mod_exp(ours, r0, in, rsa, bn_ctx);
    }
    process = warprsa_process_get(context);
    if (ours->size_class < 0) {
        /* libcrypto's own blinding is on around this call. */
        if (process != NULL) {
            count_reason(process, WARPRSA_CPU_KEY);
            count_cpu(process, -1);
        }
        return RSA_meth_get_mod_exp(RSA_PKCS1_OpenSSL())(r0, in, rsa, bn_ctx);
    }
    if (process != NULL && offload_number(ours, rsa, process, in, r0))
        return 1;
    if (process != NULL) {
        if (!warprsa_process_is_mine(process)) {
            /* A paused job that went on in a forked child. */
            process = warprsa_process_get(context);
            if (process != NULL)
                count_reason(process, WARPRSA_CPU_ERROR);
        }
    }
    if (process != NULL)
        count_cpu(process, ours->size_class);
    return warprsa_blinded_mod_exp(ours, r0, in, rsa, bn_ctx);
}

int warprsa_hook_set(RSA_METHOD *method)
{
    return RSA_meth_set_mod_exp(method, mod_exp);
}
