/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks results of other hosts; see verify.h.
 */
#include "batching/remote/engine/verify.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/err.h>

enum {
    USUAL_BITS = 17, /* of 65537 */
};

struct warprsa_verify {
    uint32_t bytes; /* of the modulus */
    bool is_longer; /* the public exponent is longer than usual */
    warprsa_ifma_public_key *ifma; /* NULL: what follows is used */
    BIGNUM *n, *e;
    BN_MONT_CTX *montgomery;
};

static bool use_libcrypto(warprsa_verify *v, const warprsa_private_key *key)
{
    BN_CTX *context = BN_CTX_new();
    bool done = false;

    if (context != NULL) {
        v->n = BN_bin2bn(key->n, sizeof(key->n), NULL);
        v->e = BN_bin2bn(key->e, sizeof(key->e), NULL);
        v->montgomery = BN_MONT_CTX_new();
        done = v->n != NULL && v->e != NULL && v->montgomery != NULL &&
               BN_MONT_CTX_set(v->montgomery, v->n, context) == 1;
    }
    BN_CTX_free(context);
    ERR_clear_error();
    return done;
}

warprsa_verify *warprsa_verify_new(const warprsa_private_key *key)
{
    warprsa_verify *v = calloc(1, sizeof(*v));
    warprsa_status status;
    uint64_t e = 0;

    if (v == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(key->e); i++)
        e = e << 8 | key->e[i];
    v->bytes = key->modulus_bytes;
    v->is_longer = e >> USUAL_BITS != 0;
    status = warprsa_ifma_public_key_new(key, &v->ifma);
    if (status == WARPRSA_OK ||
        (status != WARPRSA_NO_MEMORY && use_libcrypto(v, key)))
        return v;
    warprsa_verify_free(v);
    return NULL;
}

void warprsa_verify_free(warprsa_verify *v)
{
    if (v == NULL)
        return;
    warprsa_ifma_public_key_free(v->ifma);
    BN_free(v->n);
    BN_free(v->e);
    BN_MONT_CTX_free(v->montgomery);
    free(v);
}

static bool is_right(const warprsa_verify *v, const warprsa_task *task)
{
    BN_CTX *context = BN_CTX_new();
    BIGNUM *s = BN_bin2bn(task->output, (int)v->bytes, NULL);
    BIGNUM *m = BN_bin2bn(task->input, (int)v->bytes, NULL), *again = BN_new();
    bool right =
        context != NULL && s != NULL && m != NULL && again != NULL &&
        BN_ucmp(s, v->n) < 0 &&
        BN_mod_exp_mont(again, s, v->e, v->n, context, v->montgomery) == 1 &&
        BN_ucmp(again, m) == 0;

    BN_clear_free(s);
    BN_clear_free(m);
    BN_clear_free(again);
    BN_CTX_free(context);
    ERR_clear_error();
    return right;
}

static void refuse(warprsa_task *task, uint32_t bytes)
{
    explicit_bzero(task->output, bytes);
    task->status = WARPRSA_CHECK_FAILED;
}

static void check_group(struct warprsa_verify_group *group)
{
    if (group->count == 0)
        return;
    warprsa_ifma_check(group->results, group->count);
    for (size_t i = 0; i < group->count; i++)
        if (!group->results[i].is_right)
            refuse(group->tasks[i], group->bytes[i]);
    group->count = 0;
}

void warprsa_verify_add(warprsa_verify_batch *batch, const warprsa_verify *v,
                        warprsa_task *task)
{
    struct warprsa_verify_group *group =
        v->is_longer ? &batch->longer : &batch->usual;

    if (v->ifma == NULL) {
        if (!is_right(v, task))
            refuse(task, v->bytes);
        return;
    }
    group->results[group->count] = (warprsa_ifma_result){
        .key = v->ifma, .input = task->input, .output = task->output};
    group->bytes[group->count] = v->bytes;
    group->tasks[group->count++] = task;
    if (group->count == WARPRSA_IFMA_LANES)
        check_group(group);
}

void warprsa_verify_end(warprsa_verify_batch *batch)
{
    check_group(&batch->usual);
    check_group(&batch->longer);
}

bool warprsa_verify_can_raise(const warprsa_verify *v)
{
    return v->ifma != NULL;
}

void warprsa_verify_raise(warprsa_raised *raised, size_t count)
{
    warprsa_ifma_result results[WARPRSA_IFMA_LANES];

    for (size_t i = 0; i < count; i++)
        results[i] = (warprsa_ifma_result){.key = raised[i].verify->ifma,
                                           .output = raised[i].output,
                                           .power = raised[i].power};
    warprsa_ifma_check(results, count);
    for (size_t i = 0; i < count; i++)
        raised[i].is_right = results[i].is_right;
}
