/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all operations with a key share: their beginning, and the rules about
 * output.
 */
#ifndef WARPRSA_PKCS11_KEY_OPERATION_H
#define WARPRSA_PKCS11_KEY_OPERATION_H

#include "pkcs11/call.h"

/*
 * C_SignInit and its like: `how` is CKF_SIGN and so on. Without a mechanism it
 * ends an operation that is active, as PKCS #11 3.0 has it.
 */
CK_RV warprsa_key_operation_init(CK_SESSION_HANDLE session,
                                 warprsa_operation_slot slot, CK_FLAGS how,
                                 const CK_MECHANISM *mechanism,
                                 CK_OBJECT_HANDLE key);

/* The operation that a session has active in a slot, if it is one of `how`;
 * NULL: it has none. */
warprsa_operation *warprsa_call_operation(const warprsa_call *call,
                                          warprsa_operation_slot slot,
                                          CK_FLAGS how);

/* Begins a call with the operation of `how` that the session has active in a
 * slot. Other than CKR_OK: the call is over. CKR_OPERATION_NOT_INITIALIZED:
 * there is no such operation. */
CK_RV warprsa_call_begin_operation(warprsa_call *call,
                                   CK_SESSION_HANDLE session,
                                   warprsa_operation_slot slot, CK_FLAGS how,
                                   warprsa_operation **operation);

/* The same for a function that gets all data at once. CKR_OPERATION_ACTIVE:
 * some have come in parts, and the operation goes on. */
CK_RV warprsa_call_begin_whole(warprsa_call *call, CK_SESSION_HANDLE session,
                               warprsa_operation_slot slot, CK_FLAGS how,
                               warprsa_operation **operation);

/*
 * Whether there is room for output of up to `most` bytes. True: yes. False: the
 * function returns *rv, CKR_BUFFER_TOO_SMALL or, where the program only asks
 * for the length, CKR_OK; *bytes has been set and the operation goes on.
 */
bool warprsa_output_has_room(const CK_BYTE *output, CK_ULONG *bytes,
                             CK_ULONG most, CK_RV *rv);

/* The number that the data of an operation are, as long as the modulus and with
 * zeros in front. CKR_DATA_LEN_RANGE: they are longer; CKR_DATA_INVALID: it is
 * not below the modulus. */
CK_RV warprsa_operation_number(const warprsa_operation *operation,
                               uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX]);

/* C_SignUpdate and C_VerifyUpdate. */
CK_RV warprsa_key_operation_update(CK_SESSION_HANDLE session,
                                   warprsa_operation_slot slot, CK_FLAGS how,
                                   const CK_BYTE *data, CK_ULONG bytes);

/* C_EncryptUpdate and C_DecryptUpdate, of which no part is output before the
 * end. */
CK_RV warprsa_collect_update(CK_SESSION_HANDLE session,
                             warprsa_operation_slot slot, CK_FLAGS how,
                             const CK_BYTE *data, CK_ULONG bytes,
                             const CK_BYTE *part, CK_ULONG *part_bytes);

#endif
