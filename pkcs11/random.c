/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: random numbers, by the module's libcrypto, which the kernel seeds.
 */
#include <openssl/err.h>
#include <openssl/rand.h>

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

CK_RV C_GenerateRandom(CK_SESSION_HANDLE session, CK_BYTE *output,
                       CK_ULONG bytes)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (output == NULL && bytes > 0)
        rv = CKR_ARGUMENTS_BAD;
    else if (bytes > 0 &&
             RAND_bytes_ex(call.library->crypto.libctx, output, bytes, 0) != 1)
        rv = CKR_FUNCTION_FAILED;
    ERR_clear_error();
    return warprsa_call_end(&call, rv);
}
