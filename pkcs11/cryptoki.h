/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11 as the module has it: p11-kit's header, and what of versions 3.0 and
 * 3.1 an older one does not have yet. Names and values are the standard's
 * (OASIS, PKCS #11 Specification Version 3.1).
 */
#ifndef WARPRSA_PKCS11_CRYPTOKI_H
#define WARPRSA_PKCS11_CRYPTOKI_H

#include <p11-kit/pkcs11.h>

#ifndef CKA_UNIQUE_ID
#define CKA_UNIQUE_ID 0x4UL
#endif

#ifndef CKM_SHA3_256
#define CKM_SHA3_256 0x2b0UL
#define CKM_SHA3_224 0x2b5UL
#define CKM_SHA3_384 0x2c0UL
#define CKM_SHA3_512 0x2d0UL
#endif

#ifndef CKM_SHA3_256_RSA_PKCS
#define CKM_SHA3_256_RSA_PKCS     0x60UL
#define CKM_SHA3_384_RSA_PKCS     0x61UL
#define CKM_SHA3_512_RSA_PKCS     0x62UL
#define CKM_SHA3_256_RSA_PKCS_PSS 0x63UL
#define CKM_SHA3_384_RSA_PKCS_PSS 0x64UL
#define CKM_SHA3_512_RSA_PKCS_PSS 0x65UL
#define CKM_SHA3_224_RSA_PKCS     0x66UL
#define CKM_SHA3_224_RSA_PKCS_PSS 0x67UL
#endif

#ifndef CKG_MGF1_SHA3_224
#define CKG_MGF1_SHA3_224 0x6UL
#define CKG_MGF1_SHA3_256 0x7UL
#define CKG_MGF1_SHA3_384 0x8UL
#define CKG_MGF1_SHA3_512 0x9UL
#endif

#ifndef CKF_FIND_OBJECTS
#define CKF_FIND_OBJECTS 0x40UL
#endif

/* The functions of 2.40, in the order of CK_FUNCTION_LIST, and those that 3.0
 * has after them. */
#define WARPRSA_EACH_CRYPTOKI_2(X)                                             \
    X(C_Initialize)                                                            \
    X(C_Finalize)                                                              \
    X(C_GetInfo)                                                               \
    X(C_GetFunctionList)                                                       \
    X(C_GetSlotList)                                                           \
    X(C_GetSlotInfo)                                                           \
    X(C_GetTokenInfo)                                                          \
    X(C_GetMechanismList)                                                      \
    X(C_GetMechanismInfo)                                                      \
    X(C_InitToken)                                                             \
    X(C_InitPIN)                                                               \
    X(C_SetPIN)                                                                \
    X(C_OpenSession)                                                           \
    X(C_CloseSession)                                                          \
    X(C_CloseAllSessions)                                                      \
    X(C_GetSessionInfo)                                                        \
    X(C_GetOperationState)                                                     \
    X(C_SetOperationState)                                                     \
    X(C_Login)                                                                 \
    X(C_Logout)                                                                \
    X(C_CreateObject)                                                          \
    X(C_CopyObject)                                                            \
    X(C_DestroyObject)                                                         \
    X(C_GetObjectSize)                                                         \
    X(C_GetAttributeValue)                                                     \
    X(C_SetAttributeValue)                                                     \
    X(C_FindObjectsInit)                                                       \
    X(C_FindObjects)                                                           \
    X(C_FindObjectsFinal)                                                      \
    X(C_EncryptInit)                                                           \
    X(C_Encrypt)                                                               \
    X(C_EncryptUpdate)                                                         \
    X(C_EncryptFinal)                                                          \
    X(C_DecryptInit)                                                           \
    X(C_Decrypt)                                                               \
    X(C_DecryptUpdate)                                                         \
    X(C_DecryptFinal)                                                          \
    X(C_DigestInit)                                                            \
    X(C_Digest)                                                                \
    X(C_DigestUpdate)                                                          \
    X(C_DigestKey)                                                             \
    X(C_DigestFinal)                                                           \
    X(C_SignInit)                                                              \
    X(C_Sign)                                                                  \
    X(C_SignUpdate)                                                            \
    X(C_SignFinal)                                                             \
    X(C_SignRecoverInit)                                                       \
    X(C_SignRecover)                                                           \
    X(C_VerifyInit)                                                            \
    X(C_Verify)                                                                \
    X(C_VerifyUpdate)                                                          \
    X(C_VerifyFinal)                                                           \
    X(C_VerifyRecoverInit)                                                     \
    X(C_VerifyRecover)                                                         \
    X(C_DigestEncryptUpdate)                                                   \
    X(C_DecryptDigestUpdate)                                                   \
    X(C_SignEncryptUpdate)                                                     \
    X(C_DecryptVerifyUpdate)                                                   \
    X(C_GenerateKey)                                                           \
    X(C_GenerateKeyPair)                                                       \
    X(C_WrapKey)                                                               \
    X(C_UnwrapKey)                                                             \
    X(C_DeriveKey)                                                             \
    X(C_SeedRandom)                                                            \
    X(C_GenerateRandom)                                                        \
    X(C_GetFunctionStatus)                                                     \
    X(C_CancelFunction)                                                        \
    X(C_WaitForSlotEvent)

#define WARPRSA_EACH_CRYPTOKI_3(X)                                             \
    X(C_GetInterfaceList)                                                      \
    X(C_GetInterface)                                                          \
    X(C_LoginUser)                                                             \
    X(C_SessionCancel)                                                         \
    X(C_MessageEncryptInit)                                                    \
    X(C_EncryptMessage)                                                        \
    X(C_EncryptMessageBegin)                                                   \
    X(C_EncryptMessageNext)                                                    \
    X(C_MessageEncryptFinal)                                                   \
    X(C_MessageDecryptInit)                                                    \
    X(C_DecryptMessage)                                                        \
    X(C_DecryptMessageBegin)                                                   \
    X(C_DecryptMessageNext)                                                    \
    X(C_MessageDecryptFinal)                                                   \
    X(C_MessageSignInit)                                                       \
    X(C_SignMessage)                                                           \
    X(C_SignMessageBegin)                                                      \
    X(C_SignMessageNext)                                                       \
    X(C_MessageSignFinal)                                                      \
    X(C_MessageVerifyInit)                                                     \
    X(C_VerifyMessage)                                                         \
    X(C_VerifyMessageBegin)                                                    \
    X(C_VerifyMessageNext)                                                     \
    X(C_MessageVerifyFinal)

#ifndef WARPRSA_HAVE_CK_INTERFACE

typedef struct ck_interface {
    CK_CHAR *pInterfaceName;
    CK_VOID_PTR pFunctionList;
    CK_FLAGS flags;
} CK_INTERFACE;

CK_RV C_GetInterfaceList(CK_INTERFACE *interfaces, CK_ULONG *count);
CK_RV C_GetInterface(CK_UTF8CHAR *name, CK_VERSION *version,
                     CK_INTERFACE **interface, CK_FLAGS flags);
CK_RV C_LoginUser(CK_SESSION_HANDLE session, CK_USER_TYPE type,
                  CK_UTF8CHAR *pin, CK_ULONG pin_bytes, CK_UTF8CHAR *name,
                  CK_ULONG name_bytes);
CK_RV C_SessionCancel(CK_SESSION_HANDLE session, CK_FLAGS flags);

CK_RV C_MessageEncryptInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                           CK_OBJECT_HANDLE key);
CK_RV C_EncryptMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                       CK_ULONG parameter_bytes, CK_BYTE *associated,
                       CK_ULONG associated_bytes, CK_BYTE *input,
                       CK_ULONG input_bytes, CK_BYTE *output,
                       CK_ULONG *output_bytes);
CK_RV C_EncryptMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                            CK_ULONG parameter_bytes, CK_BYTE *associated,
                            CK_ULONG associated_bytes);
CK_RV C_EncryptMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_bytes, CK_BYTE *input,
                           CK_ULONG input_bytes, CK_BYTE *output,
                           CK_ULONG *output_bytes, CK_FLAGS flags);
CK_RV C_MessageEncryptFinal(CK_SESSION_HANDLE session);
CK_RV C_MessageDecryptInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                           CK_OBJECT_HANDLE key);
CK_RV C_DecryptMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                       CK_ULONG parameter_bytes, CK_BYTE *associated,
                       CK_ULONG associated_bytes, CK_BYTE *input,
                       CK_ULONG input_bytes, CK_BYTE *output,
                       CK_ULONG *output_bytes);
CK_RV C_DecryptMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                            CK_ULONG parameter_bytes, CK_BYTE *associated,
                            CK_ULONG associated_bytes);
CK_RV C_DecryptMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_bytes, CK_BYTE *input,
                           CK_ULONG input_bytes, CK_BYTE *output,
                           CK_ULONG *output_bytes, CK_FLAGS flags);
CK_RV C_MessageDecryptFinal(CK_SESSION_HANDLE session);
CK_RV C_MessageSignInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                        CK_OBJECT_HANDLE key);
CK_RV C_SignMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                    CK_ULONG parameter_bytes, CK_BYTE *data,
                    CK_ULONG data_bytes, CK_BYTE *signature,
                    CK_ULONG *signature_bytes);
CK_RV C_SignMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                         CK_ULONG parameter_bytes);
CK_RV C_SignMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                        CK_ULONG parameter_bytes, CK_BYTE *data,
                        CK_ULONG data_bytes, CK_BYTE *signature,
                        CK_ULONG *signature_bytes);
CK_RV C_MessageSignFinal(CK_SESSION_HANDLE session);
CK_RV C_MessageVerifyInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism,
                          CK_OBJECT_HANDLE key);
CK_RV C_VerifyMessage(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                      CK_ULONG parameter_bytes, CK_BYTE *data,
                      CK_ULONG data_bytes, CK_BYTE *signature,
                      CK_ULONG signature_bytes);
CK_RV C_VerifyMessageBegin(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                           CK_ULONG parameter_bytes);
CK_RV C_VerifyMessageNext(CK_SESSION_HANDLE session, CK_VOID_PTR parameter,
                          CK_ULONG parameter_bytes, CK_BYTE *data,
                          CK_ULONG data_bytes, CK_BYTE *signature,
                          CK_ULONG signature_bytes);
CK_RV C_MessageVerifyFinal(CK_SESSION_HANDLE session);

typedef struct ck_function_list_3_0 {
    CK_VERSION version;
#define MEMBER(name) __typeof__(&name) name;
    WARPRSA_EACH_CRYPTOKI_2(MEMBER)
    WARPRSA_EACH_CRYPTOKI_3(MEMBER)
#undef MEMBER
} CK_FUNCTION_LIST_3_0;

#endif

#endif
