/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Macros for the functions of ours in signature.c, asym_cipher.c and keymgmt.c
 * that do no more than call the default provider's. `type` is a file's context:
 * a structure with the provider context `context`, the default provider's
 * `functions` and its context `wrapped`.
 */
#ifndef WARPRSA_PROVIDER_FORWARDING_H
#define WARPRSA_PROVIDER_FORWARDING_H

#include "provider/context.h"
#include "provider/errors.h"
#include "provider/function_table.h"

/* A function that has `parameters` and calls the default provider's of the same
 * name with `arguments`, both in parentheses. */
#define WARPRSA_FORWARD(type, name, parameters, arguments)                     \
    static int name parameters                                                 \
    {                                                                          \
        const type *ours = ctx;                                                \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        WARPRSA_RETURN_INT(ours->context, ours->functions->name arguments);    \
    }

/* One that takes bytes and gives bytes. */
#define WARPRSA_FORWARD_ONCE(type, name)                                       \
    WARPRSA_FORWARD(type, name,                                                \
                    (void *ctx, unsigned char *result, size_t *length,         \
                     size_t size, const unsigned char *from,                   \
                     size_t from_length),                                      \
                    (ours->wrapped, result, length, size, from, from_length))

/* set_ctx_params(), by the file's own set_params(). */
#define WARPRSA_SET_CTX_PARAMS(type)                                           \
    static int set_ctx_params(void *ctx, const OSSL_PARAM params[])            \
    {                                                                          \
        type *ours = ctx;                                                      \
        if (ours == NULL)                                                      \
            return 0;                                                          \
        WARPRSA_RETURN_INT(ours->context, set_params(ours, params));           \
    }

/* name_INDEX(): the default provider's list of parameters `name` for the
 * algorithm with this index in `algorithms`, a field of warprsa_algorithms. */
#define WARPRSA_FORWARD_LIST(type, algorithms_of, name, index)                 \
    static const OSSL_PARAM *name##_##index(void *ctx, void *provctx)          \
    {                                                                          \
        const warprsa_context *context = provctx;                              \
        const type *ours = ctx;                                                \
        return context->algorithms.algorithms_of[index].name(                  \
            ours == NULL ? NULL : ours->wrapped, context->wrapped_provctx);    \
    }

/* An entry of a table for `OPERATION`. */
#define WARPRSA_ENTRY(OPERATION, ID, function)                                 \
    {                                                                          \
        OSSL_FUNC_##OPERATION##_##ID, WARPRSA_FUNCTION(function)               \
    }

/* Reads one of the default provider's functions out of `table`. */
#define WARPRSA_READ(OPERATION, operation, ID, name)                           \
    functions->name =                                                          \
        (OSSL_FUNC_##operation##_##name##_fn *)warprsa_function_find(          \
            table, OSSL_FUNC_##OPERATION##_##ID);

#endif
