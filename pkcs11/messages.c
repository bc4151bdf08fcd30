/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The functions of PKCS #11 3.0 for messages: no mechanism of this token has
 * any. Each says so, once the session is known to be one.
 */
#include "pkcs11/call.h"

static CK_RV not_supported(CK_SESSION_HANDLE session)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    return rv != CKR_OK ? rv
                        : warprsa_call_end(&call, CKR_FUNCTION_NOT_SUPPORTED);
}

CK_RV C_MessageEncryptInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                           CK_OBJECT_HANDLE key)
{
    (void)mechanism, (void)key;
    return not_supported(session);
}

CK_RV C_EncryptMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                       CK_ULONG parameter_bytes, CK_BYTE *associated,
                       CK_ULONG associated_bytes, CK_BYTE *input,
                       CK_ULONG input_bytes, CK_BYTE *output,
                       CK_ULONG *output_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)associated,
        (void)associated_bytes, (void)input, (void)input_bytes, (void)output,
        (void)output_bytes;
    return not_supported(session);
}

CK_RV C_EncryptMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                            CK_ULONG parameter_bytes, CK_BYTE *associated,
                            CK_ULONG associated_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)associated,
        (void)associated_bytes;
    return not_supported(session);
}

CK_RV C_EncryptMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_bytes, CK_BYTE *input,
                           CK_ULONG input_bytes, CK_BYTE *output,
                           CK_ULONG *output_bytes, CK_FLAGS flags)
{
    (void)parameter, (void)parameter_bytes, (void)input, (void)input_bytes,
        (void)output, (void)output_bytes, (void)flags;
    return not_supported(session);
}

CK_RV C_MessageEncryptFinal(CK_SESSION_HANDLE session)
{
    return not_supported(session);
}

CK_RV C_MessageDecryptInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                           CK_OBJECT_HANDLE key)
{
    (void)mechanism, (void)key;
    return not_supported(session);
}

CK_RV C_DecryptMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                       CK_ULONG parameter_bytes, CK_BYTE *associated,
                       CK_ULONG associated_bytes, CK_BYTE *input,
                       CK_ULONG input_bytes, CK_BYTE *output,
                       CK_ULONG *output_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)associated,
        (void)associated_bytes, (void)input, (void)input_bytes, (void)output,
        (void)output_bytes;
    return not_supported(session);
}

CK_RV C_DecryptMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                            CK_ULONG parameter_bytes, CK_BYTE *associated,
                            CK_ULONG associated_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)associated,
        (void)associated_bytes;
    return not_supported(session);
}

CK_RV C_DecryptMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_bytes, CK_BYTE *input,
                           CK_ULONG input_bytes, CK_BYTE *output,
                           CK_ULONG *output_bytes, CK_FLAGS flags)
{
    (void)parameter, (void)parameter_bytes, (void)input, (void)input_bytes,
        (void)output, (void)output_bytes, (void)flags;
    return not_supported(session);
}

CK_RV C_MessageDecryptFinal(CK_SESSION_HANDLE session)
{
    return not_supported(session);
}

CK_RV C_MessageSignInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                        CK_OBJECT_HANDLE key)
{
    (void)mechanism, (void)key;
    return not_supported(session);
}

CK_RV C_SignMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                    CK_ULONG parameter_bytes, CK_BYTE *data,
                    CK_ULONG data_bytes, CK_BYTE *signature,
                    CK_ULONG *signature_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)data, (void)data_bytes,
        (void)signature, (void)signature_bytes;
    return not_supported(session);
}

CK_RV C_SignMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                         CK_ULONG parameter_bytes)
{
    (void)parameter, (void)parameter_bytes;
    return not_supported(session);
}

CK_RV C_SignMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                        CK_ULONG parameter_bytes, CK_BYTE *data,
                        CK_ULONG data_bytes, CK_BYTE *signature,
                        CK_ULONG *signature_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)data, (void)data_bytes,
        (void)signature, (void)signature_bytes;
    return not_supported(session);
}

CK_RV C_MessageSignFinal(CK_SESSION_HANDLE session)
{
    return not_supported(session);
}

CK_RV C_MessageVerifyInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                          CK_OBJECT_HANDLE key)
{
    (void)mechanism, (void)key;
    return not_supported(session);
}

CK_RV C_VerifyMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                      CK_ULONG parameter_bytes, CK_BYTE *data,
                      CK_ULONG data_bytes, CK_BYTE *signature,
                      CK_ULONG signature_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)data, (void)data_bytes,
        (void)signature, (void)signature_bytes;
    return not_supported(session);
}

CK_RV C_VerifyMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_bytes)
{
    (void)parameter, (void)parameter_bytes;
    return not_supported(session);
}

CK_RV C_VerifyMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                          CK_ULONG parameter_bytes, CK_BYTE *data,
                          CK_ULONG data_bytes, CK_BYTE *signature,
                          CK_ULONG signature_bytes)
{
    (void)parameter, (void)parameter_bytes, (void)data, (void)data_bytes,
        (void)signature, (void)signature_bytes;
    return not_supported(session);
}

CK_RV C_MessageVerifyFinal(CK_SESSION_HANDLE session)
{
    return not_supported(session);
}
