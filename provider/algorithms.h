/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The RSA algorithms that a provider context offers: tables of this module's
 * functions, and the functions of the wrapped default provider that they call.
 * Types only: dispatch.h fills them in.
 */
#ifndef WARPRSA_PROVIDER_ALGORITHMS_H
#define WARPRSA_PROVIDER_ALGORITHMS_H

#include <openssl/core.h>

#include "provider/function_ids.h"

enum {
    /* Algorithms per operation at most. OpenSSL 3.5 has 24 RSA encoders, the
     * most of any version and operation. */
    WARPRSA_ALGORITHMS_MAX = 32,
    WARPRSA_KEY_TYPES = 2, /* RSA and RSA-PSS */
    /* Of an encoder's properties. The longest have 63 bytes. */
    WARPRSA_PROPERTIES_SIZE = 128,
};

/* The signature functions that this module knows: X(ID, name). The first three
 * depend on the algorithm or on the provider context, not only on a signature
 * context. So does QUERY_KEY_TYPES, which is not listed because it is given
 * neither. */
#define WARPRSA_SIGNATURE_FUNCTIONS(X)                                         \
    X(NEWCTX, newctx)                                                          \
    X(GETTABLE_CTX_PARAMS, gettable_ctx_params)                                \
    X(SETTABLE_CTX_PARAMS, settable_ctx_params)                                \
    X(SIGN_INIT, sign_init)                                                    \
    X(SIGN, sign)                                                              \
    X(SIGN_MESSAGE_INIT, sign_message_init)                                    \
    X(SIGN_MESSAGE_UPDATE, sign_message_update)                                \
    X(SIGN_MESSAGE_FINAL, sign_message_final)                                  \
    X(VERIFY_INIT, verify_init)                                                \
    X(VERIFY, verify)                                                          \
    X(VERIFY_MESSAGE_INIT, verify_message_init)                                \
    X(VERIFY_MESSAGE_UPDATE, verify_message_update)                            \
    X(VERIFY_MESSAGE_FINAL, verify_message_final)                              \
    X(VERIFY_RECOVER_INIT, verify_recover_init)                                \
    X(VERIFY_RECOVER, verify_recover)                                          \
    X(DIGEST_SIGN_INIT, digest_sign_init)                                      \
    X(DIGEST_SIGN_UPDATE, digest_sign_update)                                  \
    X(DIGEST_SIGN_FINAL, digest_sign_final)                                    \
    X(DIGEST_SIGN, digest_sign)                                                \
    X(DIGEST_VERIFY_INIT, digest_verify_init)                                  \
    X(DIGEST_VERIFY_UPDATE, digest_verify_update)                              \
    X(DIGEST_VERIFY_FINAL, digest_verify_final)                                \
    X(DIGEST_VERIFY, digest_verify)                                            \
    X(FREECTX, freectx)                                                        \
    X(DUPCTX, dupctx)                                                          \
    X(GET_CTX_PARAMS, get_ctx_params)                                          \
    X(SET_CTX_PARAMS, set_ctx_params)                                          \
    X(GET_CTX_MD_PARAMS, get_ctx_md_params)                                    \
    X(GETTABLE_CTX_MD_PARAMS, gettable_ctx_md_params)                          \
    X(SET_CTX_MD_PARAMS, set_ctx_md_params)                                    \
    X(SETTABLE_CTX_MD_PARAMS, settable_ctx_md_params)

/* The functions of an asymmetric cipher. */
#define WARPRSA_CIPHER_FUNCTIONS(X)                                            \
    X(NEWCTX, newctx)                                                          \
    X(GETTABLE_CTX_PARAMS, gettable_ctx_params)                                \
    X(SETTABLE_CTX_PARAMS, settable_ctx_params)                                \
    X(ENCRYPT_INIT, encrypt_init)                                              \
    X(ENCRYPT, encrypt)                                                        \
    X(DECRYPT_INIT, decrypt_init)                                              \
    X(DECRYPT, decrypt)                                                        \
    X(FREECTX, freectx)                                                        \
    X(DUPCTX, dupctx)                                                          \
    X(GET_CTX_PARAMS, get_ctx_params)                                          \
    X(SET_CTX_PARAMS, set_ctx_params)

/* The functions of an encoder that this module calls. */
#define WARPRSA_ENCODER_FUNCTIONS(X)                                           \
    X(NEWCTX, newctx)                                                          \
    X(SETTABLE_CTX_PARAMS, settable_ctx_params)                                \
    X(DOES_SELECTION, does_selection)                                          \
    X(ENCODE, encode)

/* The functions of the wrapped KEYMGMT that this module calls. */
#define WARPRSA_KEYMGMT_FUNCTIONS(X)                                           \
    X(NEW, new)                                                                \
    X(GETTABLE_PARAMS, gettable_params)                                        \
    X(GEN_INIT, gen_init)                                                      \
    X(GEN_SETTABLE_PARAMS, gen_settable_params)                                \
    X(GEN_SET_TEMPLATE, gen_set_template)                                      \
    X(GEN_SET_PARAMS, gen_set_params)                                          \
    X(GEN, gen)                                                                \
    X(GEN_CLEANUP, gen_cleanup)                                                \
    X(FREE, free)                                                              \
    X(GET_PARAMS, get_params)                                                  \
    X(HAS, has)                                                                \
    X(VALIDATE, validate)                                                      \
    X(MATCH, match)                                                            \
    X(IMPORT, import)                                                          \
    X(EXPORT, export)

#define WARPRSA_SIGNATURE_FIELD(ID, name)                                      \
    OSSL_FUNC_signature_##name##_fn *(name);
#define WARPRSA_CIPHER_FIELD(ID, name)                                         \
    OSSL_FUNC_asym_cipher_##name##_fn *(name);
#define WARPRSA_ENCODER_FIELD(ID, name) OSSL_FUNC_encoder_##name##_fn *(name);
#define WARPRSA_KEYMGMT_FIELD(ID, name) OSSL_FUNC_keymgmt_##name##_fn *(name);

/* Functions of the wrapped provider; NULL: it has none. */
typedef struct warprsa_signature_functions {
    WARPRSA_SIGNATURE_FUNCTIONS(WARPRSA_SIGNATURE_FIELD)
} warprsa_signature_functions;

typedef struct warprsa_cipher_functions {
    WARPRSA_CIPHER_FUNCTIONS(WARPRSA_CIPHER_FIELD)
} warprsa_cipher_functions;

typedef struct warprsa_encoder_functions {
    WARPRSA_ENCODER_FUNCTIONS(WARPRSA_ENCODER_FIELD)
} warprsa_encoder_functions;

typedef struct warprsa_keymgmt_functions {
    WARPRSA_KEYMGMT_FUNCTIONS(WARPRSA_KEYMGMT_FIELD)
} warprsa_keymgmt_functions;

/*
 * The tables that query_operation() returns, each ended by an entry without a
 * name, and the wrapped functions of each. An algorithm has the same index in
 * its table and among the wrapped.
 */
typedef struct warprsa_algorithms {
    OSSL_ALGORITHM *signature;
    OSSL_ALGORITHM *asym_cipher;
    OSSL_ALGORITHM *keymgmt;
    OSSL_ALGORITHM *encoder;
    warprsa_signature_functions signatures[WARPRSA_ALGORITHMS_MAX];
    warprsa_cipher_functions ciphers[WARPRSA_ALGORITHMS_MAX];
    warprsa_keymgmt_functions keymgmts[WARPRSA_KEY_TYPES];
    warprsa_encoder_functions encoders[WARPRSA_ALGORITHMS_MAX];
    char encoder_properties[WARPRSA_ALGORITHMS_MAX][WARPRSA_PROPERTIES_SIZE];
} warprsa_algorithms;

/* A function is not told which algorithm it is called for. So functions that
 * depend on the algorithm are made for each index: X(INDEX) for each index
 * below WARPRSA_ALGORITHMS_MAX. */
#define WARPRSA_EACH_ALGORITHM(X)                                              \
    X(0)                                                                       \
    X(1)                                                                       \
    X(2)                                                                       \
    X(3)                                                                       \
    X(4)                                                                       \
    X(5)                                                                       \
    X(6)                                                                       \
    X(7)                                                                       \
    X(8)                                                                       \
    X(9)                                                                       \
    X(10)                                                                      \
    X(11)                                                                      \
    X(12)                                                                      \
    X(13)                                                                      \
    X(14)                                                                      \
    X(15)                                                                      \
    X(16)                                                                      \
    X(17)                                                                      \
    X(18)                                                                      \
    X(19)                                                                      \
    X(20)                                                                      \
    X(21)                                                                      \
    X(22)                                                                      \
    X(23)                                                                      \
    X(24)                                                                      \
    X(25)                                                                      \
    X(26)                                                                      \
    X(27)                                                                      \
    X(28)                                                                      \
    X(29)                                                                      \
    X(30)                                                                      \
    X(31)

#endif
