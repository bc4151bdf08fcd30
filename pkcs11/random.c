/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: random numbers, which are the kernel's. libcrypto would keep a
 * generator for each thread and library context, and call into a context that
 * C_Finalize has freed when the thread ends.
 */
#include <errno.h>
#include <sys/random.h>

#include "pkcs11/call.h"

/* No program's bytes go into it. */
CK_RV C_SeedRandom(CK_SESSION_HANDLE session, CK_BYTE *seed, CK_ULONG bytes)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    return warprsa_call_end(&call, seed == NULL && bytes > 0
                                       ? CKR_ARGUMENTS_BAD
                                       : CKR_RANDOM_SEED_NOT_SUPPORTED);
}

static CK_RV fill(CK_BYTE *output, CK_ULONG bytes)
{
    while (bytes > 0) {
        const ssize_t got = getrandom(output, bytes, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return CKR_FUNCTION_FAILED;
        output += got;
        bytes -= (CK_ULONG)got;
    }
    return CKR_OK;
}

CK_RV C_GenerateRandom(CK_SESSION_HANDLE session, CK_BYTE *output,
                       CK_ULONG bytes)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (output == NULL && bytes > 0)
        rv = CKR_ARGUMENTS_BAD;
    else
        rv = fill(output, bytes);
    return warprsa_call_end(&call, rv);
}
