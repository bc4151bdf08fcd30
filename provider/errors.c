/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moving errors from our libcrypto's queue to the caller's.
 */
#include "provider/errors.h"

#include <openssl/err.h>

/* A library's number and a reason that no error of libcrypto's has. */
#define NOTHING_YET ERR_PACK(ERR_LIB_USER, 0, ERR_REASON_MASK)

warprsa_errors warprsa_errors_begin(const warprsa_context *context)
{
    warprsa_errors before = {0};

    if (context->same_libcrypto)
        return before;
    before.any = ERR_peek_error() != 0;
    if (before.any) {
        ERR_set_mark();
        /* The call may raise an error that is equal to the last one here. */
        ERR_raise(ERR_GET_LIB(NOTHING_YET), ERR_GET_REASON(NOTHING_YET));
    }
    return before;
}

void warprsa_errors_end(const warprsa_context *context, warprsa_errors before,
                        bool ok)
{
    const char *file, *function, *data;
    int line, flags;
    unsigned long code = 0;

    if (context->same_libcrypto)
        return;
    if (before.any) {
        code = ERR_peek_last_error_all(&file, &line, &function, &data, &flags);
        if (!ok && code != NOTHING_YET)
            warprsa_core_raise_code(&context->core, code, file, line, function,
                                    flags & ERR_TXT_STRING ? data : "");
        ERR_pop_to_mark();
        return;
    }
    while (!ok && (code = ERR_get_error_all(&file, &line, &function, &data,
                                            &flags)) != 0)
        warprsa_core_raise_code(&context->core, code, file, line, function,
                                flags & ERR_TXT_STRING ? data : "");
    ERR_clear_error();
}
