/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions of providers that versions of OpenSSL after 3.0 have added: the
 * number and type of each that this provider offers, for builds with headers
 * that lack it. The numbers are part of OpenSSL's stable interface.
 */
#ifndef WARPRSA_PROVIDER_FUNCTION_IDS_H
#define WARPRSA_PROVIDER_FUNCTION_IDS_H

#include <openssl/core_dispatch.h>

/* From 3.4 on. */
#ifndef OSSL_FUNC_SIGNATURE_QUERY_KEY_TYPES
#define OSSL_FUNC_SIGNATURE_QUERY_KEY_TYPES       26
#define OSSL_FUNC_SIGNATURE_SIGN_MESSAGE_INIT     27
#define OSSL_FUNC_SIGNATURE_SIGN_MESSAGE_UPDATE   28
#define OSSL_FUNC_SIGNATURE_SIGN_MESSAGE_FINAL    29
#define OSSL_FUNC_SIGNATURE_VERIFY_MESSAGE_INIT   30
#define OSSL_FUNC_SIGNATURE_VERIFY_MESSAGE_UPDATE 31
#define OSSL_FUNC_SIGNATURE_VERIFY_MESSAGE_FINAL  32
typedef int OSSL_FUNC_signature_sign_message_init_fn(void *, void *,
                                                     const OSSL_PARAM[]);
typedef int OSSL_FUNC_signature_sign_message_update_fn(void *,
                                                       const unsigned char *,
                                                       size_t);
typedef int OSSL_FUNC_signature_sign_message_final_fn(void *, unsigned char *,
                                                      size_t *, size_t);
typedef int OSSL_FUNC_signature_verify_message_init_fn(void *, void *,
                                                       const OSSL_PARAM[]);
typedef int OSSL_FUNC_signature_verify_message_update_fn(void *,
                                                         const unsigned char *,
                                                         size_t);
typedef int OSSL_FUNC_signature_verify_message_final_fn(void *);
#endif

/*
 * From 4.0 on. NEW_EX is not offered: its parameters may hold the address of an
 * RSA of the caller, to be used as the key. libcrypto calls NEW if there is no
 * NEW_EX. The known-answer test walks a table as libcrypto does, so it has to
 * know the number.
 */
#ifndef OSSL_FUNC_KEYMGMT_NEW_EX
#define OSSL_FUNC_KEYMGMT_NEW_EX 17
typedef void *OSSL_FUNC_keymgmt_new_ex_fn(void *, const OSSL_PARAM[]);
#endif

#endif
