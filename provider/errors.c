/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Moving errors from our libcrypto's queue to the caller's.
 */
#include "provider/errors.h"

#include <openssl/err.h>

warprsa_errors warprsa_errors_begin(const warprsa_context *context)
{
    warprsa_errors before = {0};

    if (context->same_libcrypto)
        return before;
    before.last = ERR_peek_last_error();
    if (before.last != 0)
        ERR_set_mark();
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
    if (before.last != 0) {
        code = ERR_peek_last_error_all(&file, &line, &function, &data, &flags);
        if (!ok && code != before.last)
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
