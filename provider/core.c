/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Taking the core's functions from its table, and raising errors through them.
 */
#include "provider/core.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

bool warprsa_core_init(warprsa_core *core, const OSSL_CORE_HANDLE *handle,
                       const OSSL_DISPATCH *in)
{
    *core = (warprsa_core){.handle = handle};
    for (; in->function_id != 0; in++) {
        switch (in->function_id) {
        case OSSL_FUNC_CORE_GET_PARAMS:
            core->get_params = OSSL_FUNC_core_get_params(in);
            break;
        case OSSL_FUNC_CORE_GET_LIBCTX:
            core->get_libctx = OSSL_FUNC_core_get_libctx(in);
            break;
        case OSSL_FUNC_CORE_NEW_ERROR:
            core->new_error = OSSL_FUNC_core_new_error(in);
            break;
        case OSSL_FUNC_CORE_SET_ERROR_DEBUG:
            core->set_error_debug = OSSL_FUNC_core_set_error_debug(in);
            break;
        case OSSL_FUNC_CORE_VSET_ERROR:
            core->vset_error = OSSL_FUNC_core_vset_error(in);
            break;
        case OSSL_FUNC_BIO_READ_EX:
            core->bio_read = OSSL_FUNC_BIO_read_ex(in);
            break;
        case OSSL_FUNC_BIO_GETS:
            core->bio_gets = OSSL_FUNC_BIO_gets(in);
            break;
        }
    }
    return core->get_params != NULL && core->get_libctx != NULL &&
           core->new_error != NULL && core->set_error_debug != NULL &&
           core->vset_error != NULL;
}

void warprsa_core_raise(const warprsa_core *core, unsigned reason,
                        const char *file, int line, const char *function,
                        const char *format, ...)
{
    va_list arguments;
    char text[1000];

    va_start(arguments, format);
    core->new_error(core->handle);
    core->set_error_debug(core->handle, file, line, function);
    core->vset_error(core->handle, reason, format, arguments);
    va_end(arguments);
    if (core->trace == NULL || reason >= WARPRSA_R_REFERENCE)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    warprsa_trace_printf(core->trace, 1, "not loaded: %s", text);
}

static void set_error(const warprsa_core *core, unsigned code,
                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    core->vset_error(core->handle, code, format, arguments);
    va_end(arguments);
}

void warprsa_core_raise_code(const warprsa_core *core, unsigned long code,
                             const char *file, int line, const char *function,
                             const char *data)
{
    core->new_error(core->handle);
    core->set_error_debug(core->handle, file, line, function);
    /* A code with the number of a library is one of libcrypto's for the core,
     * and these numbers are the same in all its versions. */
    if (data[0] != '\0')
        set_error(core, (unsigned)code, "%s", data);
    else
        set_error(core, (unsigned)code, NULL);
}
