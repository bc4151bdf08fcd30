/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: what this token does not do. Keys come into the vault by files that
 * root puts there, and never leave it; nothing else is stored; and no two
 * operations are combined.
 */
#include "pkcs11/call.h"

static CK_RV refuse(CK_SESSION_HANDLE session, CK_RV why)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    return rv != CKR_OK ? rv : warprsa_call_end(&call, why);
}

CK_RV C_InitPIN(CK_SESSION_HANDLE session, CK_UTF8CHAR *pin, CK_ULONG bytes)
{
    (void)pin, (void)bytes;
    return refuse(session, CKR_TOKEN_WRITE_PROTECTED);
}

CK_RV C_SetPIN(CK_SESSION_HANDLE session, CK_UTF8CHAR *old, CK_ULONG old_bytes,
               CK_UTF8CHAR *new, CK_ULONG new_bytes)
{
    (void)old, (void)old_bytes, (void)new, (void)new_bytes;
    return refuse(session, CKR_TOKEN_WRITE_PROTECTED);
}

/* ---- objects ---- */

CK_RV C_CreateObject(CK_SESSION_HANDLE session, CK_ATTRIBUTE *template,
                     CK_ULONG count, CK_OBJECT_HANDLE *object)
{
    (void)template, (void)count, (void)object;
    return refuse(session, CKR_TOKEN_WRITE_PROTECTED);
}

CK_RV C_GenerateKey(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                    CK_ATTRIBUTE *template, CK_ULONG count,
                    CK_OBJECT_HANDLE *key)
{
    (void)mechanism, (void)template, (void)count, (void)key;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_GenerateKeyPair(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                        CK_ATTRIBUTE *public_template, CK_ULONG public_count,
                        CK_ATTRIBUTE *private_template, CK_ULONG private_count,
                        CK_OBJECT_HANDLE *public_key,
                        CK_OBJECT_HANDLE *private_key)
{
    (void)mechanism, (void)public_template, (void)public_count;
    (void)private_template, (void)private_count, (void)public_key;
    (void)private_key;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_WrapKey(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                CK_OBJECT_HANDLE wrapping, CK_OBJECT_HANDLE key,
                CK_BYTE *wrapped, CK_ULONG *wrapped_bytes)
{
    (void)mechanism, (void)wrapping, (void)key, (void)wrapped;
    (void)wrapped_bytes;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_UnwrapKey(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                  CK_OBJECT_HANDLE unwrapping, CK_BYTE *wrapped,
                  CK_ULONG wrapped_bytes, CK_ATTRIBUTE *template,
                  CK_ULONG count, CK_OBJECT_HANDLE *key)
{
    (void)mechanism, (void)unwrapping, (void)wrapped, (void)wrapped_bytes;
    (void)template, (void)count, (void)key;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_DeriveKey(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                  CK_OBJECT_HANDLE base, CK_ATTRIBUTE *template, CK_ULONG count,
                  CK_OBJECT_HANDLE *key)
{
    (void)mechanism, (void)base, (void)template, (void)count, (void)key;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

/* ---- two operations at once ---- */

CK_RV C_DigestEncryptUpdate(CK_SESSION_HANDLE session, CK_BYTE *part,
                            CK_ULONG bytes, CK_BYTE *output,
                            CK_ULONG *output_bytes)
{
    (void)part, (void)bytes, (void)output, (void)output_bytes;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_DecryptDigestUpdate(CK_SESSION_HANDLE session, CK_BYTE *part,
                            CK_ULONG bytes, CK_BYTE *output,
                            CK_ULONG *output_bytes)
{
    (void)part, (void)bytes, (void)output, (void)output_bytes;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_SignEncryptUpdate(CK_SESSION_HANDLE session, CK_BYTE *part,
                          CK_ULONG bytes, CK_BYTE *output,
                          CK_ULONG *output_bytes)
{
    (void)part, (void)bytes, (void)output, (void)output_bytes;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_DecryptVerifyUpdate(CK_SESSION_HANDLE session, CK_BYTE *part,
                            CK_ULONG bytes, CK_BYTE *output,
                            CK_ULONG *output_bytes)
{
    (void)part, (void)bytes, (void)output, (void)output_bytes;
    return refuse(session, CKR_FUNCTION_NOT_SUPPORTED);
}
