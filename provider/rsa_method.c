/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the RSA_METHOD: they pad, choose a route, and compute on a
 * device or let libcrypto compute, and count which it was.
 */
#include "provider/rsa_method.h"

#include <string.h>

#include <openssl/async.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>

#include "batching/base/cancellation.h"
#include "provider/async_wait.h"
#include "provider/blinding.h"
#include "provider/jobs_left.h"
#include "provider/key.h"
#include "provider/reference_method.h"

enum {
    /* The longest wait between enter and leave: closing waits for it. */
    SLICE_MS = 20,
};

static void count_cpu(warprsa_instance *instance, int size_class)
{
    warprsa_count(
        &instance->counters->cpu[size_class < 0 ? WARPRSA_CLASSES : size_class],
        1);
}

static void count_reason(warprsa_instance *instance, warprsa_cpu_reason reason)
{
    warprsa_count(&instance->counters->cpu_reason[reason], 1);
}

/* What the router of `route = auto` knows of this thread. */
static _Thread_local warprsa_router_thread router_thread;

/* The current job's wait ctx, which tells the jobs of a thread apart. The
 * address of the job would not do: libcrypto reuses a job that has ended for
 * the next one. NULL: the caller blocks. */
static const void *current_job(void)
{
    ASYNC_JOB *job = ASYNC_get_current_job();

    return job == NULL ? NULL : ASYNC_get_wait_ctx(job);
}

/* Lets the other jobs of this thread go on, if the router wants to see them. In
 * mode = daemon a job has a descriptor that only the daemon makes readable. */
static void yield_if_wanted(const warprsa_context *context,
                            warprsa_instance *instance, warprsa_size_class size)
{
    const void *job = NULL;

    if (context->config.route != WARPRSA_ROUTE_AUTO ||
        context->config.mode != WARPRSA_MODE_PROCESS)
        return;
    job = current_job();
    if (job != NULL && warprsa_router_should_yield(&instance->router,
                                                   &router_thread, size, job))
        warprsa_async_wait_yield();
}

/* The route of this operation: the configuration's, or the router's if `route`
 * is auto. `before`: requests submitted and not answered yet. */
static warprsa_router_choice choose_route(const warprsa_context *context,
                                          warprsa_instance *instance,
                                          warprsa_size_class size,
                                          unsigned before)
{
    if (context->config.route == WARPRSA_ROUTE_CPU)
        return WARPRSA_RUN_CPU;
    if (context->config.route == WARPRSA_ROUTE_GPU)
        return WARPRSA_RUN_DEVICE;
    return warprsa_router_choose(&instance->router, &router_thread, size,
                                 current_job(), before);
}

/* Whether the backend takes requests; if not, *reason says why. `route = gpu`
 * waits a little for devices that are still opening: *again says whether to
 * leave the backend and ask once more. */
static bool is_ready(const warprsa_context *context, warprsa_instance *instance,
                     const warprsa_backend *backend, warprsa_cpu_reason *reason,
                     bool *again)
{
    unsigned left = 0;
    warprsa_queue_state state = backend->ops->wait_ready(backend->impl, 0);

    if (state == WARPRSA_QUEUE_STARTING &&
        context->config.route == WARPRSA_ROUTE_GPU) {
        left = warprsa_instance_startup_left(context, instance);
        state = backend->ops->wait_ready(backend->impl,
                                         left < SLICE_MS ? left : SLICE_MS);
    }
    *again = state == WARPRSA_QUEUE_STARTING && left > 0;
    *reason = state == WARPRSA_QUEUE_STARTING ? WARPRSA_CPU_STARTING
                                              : WARPRSA_CPU_NO_DEVICE;
    return state == WARPRSA_QUEUE_READY;
}

/*
 * Returns the backend, entered, if this operation goes there; else NULL, with
 * the reason counted. A backend is opened only when the route leads to it.
 */
static const warprsa_backend *choose_backend(warprsa_context *context,
                                             warprsa_instance *instance,
                                             warprsa_size_class size)
{
    warprsa_cpu_reason reason = WARPRSA_CPU_ROUTE;
    bool open = warprsa_instance_is_open(instance);
    bool again =
        open || choose_route(context, instance, size, 0) == WARPRSA_RUN_DEVICE;

    while (again) {
        const warprsa_backend *backend =
            warprsa_instance_enter(context, instance, &reason);
        warprsa_router_choice choice = WARPRSA_RUN_DEVICE;

        if (backend == NULL)
            break;
        warprsa_async_wait_tick(backend);
        if (open)
            choice = choose_route(context, instance, size,
                                  backend->ops->depth(backend->impl));
        if (choice == WARPRSA_RUN_DEVICE &&
            is_ready(context, instance, backend, &reason, &again))
            return backend;
        warprsa_instance_leave(instance);
        if (choice != WARPRSA_RUN_DEVICE) {
            again = false;
            reason = choice == WARPRSA_RUN_CPU_OVERFLOW ? WARPRSA_CPU_OVERFLOW
                                                        : WARPRSA_CPU_ROUTE;
        }
    }
    count_reason(instance, reason);
    return NULL;
}

/* A request under way. */
typedef struct submitted {
    const warprsa_backend *backend;
    warprsa_async_wait *wait;
    warprsa_ticket ticket;
} submitted;

/* Submits input^d mod n to a device. False: the reason is counted. */
static bool submit(warprsa_rsa *ours, const RSA *rsa,
                   warprsa_instance *instance, const uint8_t *input,
                   submitted *out)
{
    warprsa_backend_key *key = NULL;
    warprsa_answer answer = WARPRSA_REFUSED;

    out->wait = NULL;
    out->backend = choose_backend(ours->context, instance,
                                  (warprsa_size_class)ours->size_class);
    if (out->backend == NULL)
        return false;
    key = warprsa_rsa_key(ours, rsa, instance, out->backend);
    if (key == NULL) {
        count_reason(instance, WARPRSA_CPU_ERROR);
    } else {
        out->wait = warprsa_async_wait_new(out->backend);
        answer = warprsa_async_wait_submit(out->wait, out->backend, key, input,
                                           &out->ticket);
    }
    warprsa_instance_leave(instance);
    if (answer == WARPRSA_DONE)
        return true;
    warprsa_async_wait_cancel(out->wait);
    return false;
}

/* Computes output = input^d mod n on a device. False: it was not computed, and
 * the reason is counted. */
static bool offload(warprsa_rsa *ours, const RSA *rsa,
                    warprsa_instance *instance, const uint8_t *input,
                    uint8_t *output)
{
    submitted request;
    int cancellation;
    bool ok;

    yield_if_wanted(ours->context, instance,
                    (warprsa_size_class)ours->size_class);
    if (!warprsa_instance_is_mine(instance))
        return false; /* the job was resumed in a forked child */
    cancellation = warprsa_cancellation_off();
    ok = submit(ours, rsa, instance, input, &request);
    warprsa_cancellation_restore(cancellation);
    return ok &&
           warprsa_async_wait_answer(request.wait, instance, request.backend,
                                     request.ticket, output) == WARPRSA_DONE;
}

/* As offload(). If the device did not compute, counts an operation on the CPU,
 * and the caller computes it there. */
static bool offload_or_count(warprsa_rsa *ours, const RSA *rsa,
                             const uint8_t *input, uint8_t *output)
{
    warprsa_instance *instance = warprsa_instance_get(ours->context);

    if (instance == NULL)
        return false; /* nowhere to count either: no memory */
    warprsa_jobs_left_count(instance->counters);
    if (offload(ours, rsa, instance, input, output))
        return true;
    if (!warprsa_instance_is_mine(instance)) {
        /* The job paused before a fork and was resumed in the child. */
        instance = warprsa_instance_get(ours->context);
        if (instance == NULL)
            return false;
        count_reason(instance, WARPRSA_CPU_ERROR);
    }
    count_cpu(instance, ours->size_class);
    return false;
}

/* offload_or_count() for BIGNUMs. */
static bool offload_bignum(warprsa_rsa *ours, const RSA *rsa, const BIGNUM *in,
                           BIGNUM *out)
{
    int length = RSA_size(rsa);
    uint8_t number[WARPRSA_MODULUS_BYTES_MAX];
    bool ok = BN_bn2binpad(in, number, length) == length &&
              offload_or_count(ours, rsa, number, number) &&
              BN_bin2bn(number, length, out) != NULL;

    OPENSSL_cleanse(number, sizeof(number));
    return ok;
}

/* Counts an operation whose key no engine can take. */
static void count_unsupported_key(warprsa_context *context)
{
    warprsa_instance *instance = warprsa_instance_get(context);

    if (instance == NULL)
        return;
    count_reason(instance, WARPRSA_CPU_UNSUPPORTED_KEY);
    count_cpu(instance, -1);
}

/*
 * What priv_enc() and priv_dec() tell mod_exp(), which libcrypto calls for
 * them. mod_exp() reads and clears this before a job can pause, so one job
 * never reads what another has set.
 */
static _Thread_local enum {
    MOD_EXP_ROUTED, /* the route decides; also without priv_enc() */
    MOD_EXP_ON_CPU, /* the operation was routed before, and counted */
    MOD_EXP_SECRET, /* the result is a secret: a decrypted message */
} next_mod_exp;

static int libcrypto_mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                             BN_CTX *bn_ctx)
{
    return RSA_meth_get_mod_exp(RSA_PKCS1_OpenSSL())(r0, in, rsa, bn_ctx);
}

/* Calls libcrypto's mod_exp and times it for the router. */
static int timed_libcrypto_mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                                   BN_CTX *bn_ctx)
{
    const warprsa_rsa *ours = warprsa_rsa_of(rsa);
    warprsa_instance *instance = NULL;
    uint64_t begun_ns = 0;
    int ok = 0;

    if (!ours->context->testing &&
        ours->context->config.route == WARPRSA_ROUTE_AUTO)
        instance = warprsa_instance_get(ours->context);
    if (instance == NULL)
        return libcrypto_mod_exp(r0, in, rsa, bn_ctx);
    begun_ns = warprsa_router_cpu_begin(&instance->router);
    ok = libcrypto_mod_exp(r0, in, rsa, bn_ctx);
    warprsa_router_cpu_end(&instance->router,
                           (warprsa_size_class)ours->size_class, begun_ns);
    return ok;
}

/* Computes on a device or, if that fails, on the CPU. */
static int routed_mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                          BN_CTX *bn_ctx)
{
    return offload_bignum(warprsa_rsa_of(rsa), rsa, in, r0)
               ? 1
               : timed_libcrypto_mod_exp(r0, in, rsa, bn_ctx);
}

static int mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa, BN_CTX *bn_ctx)
{
    warprsa_rsa *ours = warprsa_rsa_of(rsa);
    int how = next_mod_exp;

    next_mod_exp = MOD_EXP_ROUTED;
    if (ours->reference != NULL)
        return warprsa_reference_mod_exp(r0, in, rsa, bn_ctx);
    if (ours->size_class < 0) {
        /* libcrypto's own blinding is on around this call. */
        count_unsupported_key(ours->context);
        return libcrypto_mod_exp(r0, in, rsa, bn_ctx);
    }
    if (ours->context->testing) {
        /* The key of the known-answer test is no secret. A blinding would seed
         * a random generator in each process that loads the module. */
        ours->context->tested++;
        return libcrypto_mod_exp(r0, in, rsa, bn_ctx);
    }
    /* A BIGNUM's length depends on its leading zeros and would reveal a secret.
     * The result of warprsa_blinded() has full length whatever its value, as in
     * libcrypto. */
    if (how == MOD_EXP_SECRET)
        return warprsa_blinded(ours, routed_mod_exp, r0, in, rsa, bn_ctx);
    if (how == MOD_EXP_ROUTED && offload_bignum(ours, rsa, in, r0))
        return 1;
    return warprsa_blinded(ours, timed_libcrypto_mod_exp, r0, in, rsa, bn_ctx);
}

/* Counts an operation with a private key for which libcrypto does not call
 * mod_exp(): one without CRT parameters. */
static void count_if_mod_exp_unused(const RSA *rsa)
{
    const warprsa_rsa *ours = warprsa_rsa_of(rsa);

    if (!ours->uses_mod_exp && RSA_get0_d(rsa) != NULL)
        count_unsupported_key(ours->context);
}

/* Copies a number that needs no padding. False: it isn't as long as the
 * modulus, or not below it. libcrypto pads or refuses a shorter number,
 * depending on its version, and raises the error of a number that is too large.
 * The comparison need not be constant-time, since both numbers are public. */
static bool copy_number(uint8_t number[WARPRSA_MODULUS_BYTES_MAX], int length,
                        const unsigned char *from, const RSA *rsa)
{
    const uint8_t *n = warprsa_rsa_of(rsa)->modulus;

    if (n == NULL || length != RSA_size(rsa))
        return false;
    memcpy(number, from, (size_t)length);
    return memcmp(number, n, (size_t)length) < 0;
}

/* Copies the number of a signature and adds its padding. False: the padding is
 * a rare one, or libcrypto has to find what is wrong. */
static bool pad_signature(uint8_t number[WARPRSA_MODULUS_BYTES_MAX], int length,
                          const unsigned char *from, const RSA *rsa,
                          int padding)
{
    int size = RSA_size(rsa);

    if (padding == RSA_PKCS1_PADDING)
        return length >= 0 && length <= size - RSA_PKCS1_PADDING_SIZE &&
               RSA_padding_add_PKCS1_type_1(number, size, from, length) == 1;
    return padding == RSA_NO_PADDING && copy_number(number, length, from, rsa);
}

/* Whether operations of a key can go to the engines as bytes, past mod_exp().
 * Not at load, since the known-answer test has to reach mod_exp(). */
static bool accepts_bytes(const warprsa_rsa *ours)
{
    return ours->size_class >= 0 && !ours->context->testing;
}

typedef int private_fn(int length, const unsigned char *from, unsigned char *to,
                       RSA *rsa, int padding);

/* Calls libcrypto's own function, and lets mod_exp() beneath it know `how`. */
static int call_libcrypto(private_fn *function, int how, int length,
                          const unsigned char *from, unsigned char *to,
                          RSA *rsa, int padding)
{
    int result = 0;

    count_if_mod_exp_unused(rsa);
    next_mod_exp = how;
    result = function(length, from, to, rsa, padding);
    next_mod_exp = MOD_EXP_ROUTED; /* mod_exp() may not have been called */
    return result;
}

/* The outcome of trying an operation as bytes. */
typedef enum bytes_tried {
    BYTES_NOT_TRIED, /* it can't be, or libcrypto is to find what is wrong */
    BYTES_ON_CPU,    /* it is the CPU's, and counted */
    BYTES_DONE,
} bytes_tried;

/* The next two functions are separate so that `number` is not on the stack,
 * which may be small, while libcrypto computes. */
__attribute__((noinline)) static bytes_tried
sign_bytes(int length, const unsigned char *from, unsigned char *to, RSA *rsa,
           int padding)
{
    warprsa_rsa *ours = warprsa_rsa_of(rsa);
    uint8_t number[WARPRSA_MODULUS_BYTES_MAX];

    if (!accepts_bytes(ours) ||
        !pad_signature(number, length, from, rsa, padding))
        return BYTES_NOT_TRIED;
    return offload_or_count(ours, rsa, number, to) ? BYTES_DONE : BYTES_ON_CPU;
}

__attribute__((noinline)) static bytes_tried
decrypt_bytes(int length, const unsigned char *from, unsigned char *to,
              RSA *rsa, int padding)
{
    warprsa_rsa *ours = warprsa_rsa_of(rsa);
    uint8_t number[WARPRSA_MODULUS_BYTES_MAX];

    if (!accepts_bytes(ours) || padding != RSA_NO_PADDING ||
        !copy_number(number, length, from, rsa))
        return BYTES_NOT_TRIED;
    return offload_or_count(ours, rsa, number, to) ? BYTES_DONE : BYTES_ON_CPU;
}

/* libcrypto's PKCS #1 v1.5 and PSS signatures come here. They go to a device as
 * bytes, without the BIGNUMs, buffers and locks on the way to mod_exp(). */
static int priv_enc(int length, const unsigned char *from, unsigned char *to,
                    RSA *rsa, int padding)
{
    bytes_tried tried = BYTES_NOT_TRIED;

    if (warprsa_rsa_is_reference(rsa))
        return warprsa_reference_priv_enc(length, from, to, rsa, padding);
    tried = sign_bytes(length, from, to, rsa, padding);
    if (tried == BYTES_DONE)
        return RSA_size(rsa);
    return call_libcrypto(RSA_meth_get_priv_enc(RSA_PKCS1_OpenSSL()),
                          tried == BYTES_ON_CPU ? MOD_EXP_ON_CPU
                                                : MOD_EXP_ROUTED,
                          length, from, to, rsa, padding);
}

/* Decryptions come here. TLS and OAEP remove their padding elsewhere, so their
 * results pass as bytes, and no BIGNUM ever holds the secret. */
static int priv_dec(int length, const unsigned char *from, unsigned char *to,
                    RSA *rsa, int padding)
{
    bytes_tried tried = BYTES_NOT_TRIED;

    if (warprsa_rsa_is_reference(rsa))
        return warprsa_reference_priv_dec(length, from, to, rsa, padding);
    tried = decrypt_bytes(length, from, to, rsa, padding);
    if (tried == BYTES_DONE)
        return RSA_size(rsa);
    return call_libcrypto(RSA_meth_get_priv_dec(RSA_PKCS1_OpenSSL()),
                          tried == BYTES_ON_CPU ? MOD_EXP_ON_CPU
                                                : MOD_EXP_SECRET,
                          length, from, to, rsa, padding);
}

bool warprsa_rsa_method_attach(warprsa_context *context, unsigned type,
                               RSA *rsa)
{
    RSA_METHOD *method = RSA_meth_dup(RSA_PKCS1_OpenSSL());

    if (method == NULL || !RSA_meth_set1_name(method, "warprsa RSA") ||
        !RSA_meth_set_mod_exp(method, mod_exp) ||
        !RSA_meth_set_priv_enc(method, priv_enc) ||
        !RSA_meth_set_priv_dec(method, priv_dec)) {
        RSA_meth_free(method);
        return false;
    }
    return warprsa_rsa_attach(context, type, rsa, method);
}
