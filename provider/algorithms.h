/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The RSA algorithms that a provider context offers: tables of the default
 * provider in which some functions are replaced, and the functions that were
 * replaced, since the replacements call them. Types only: dispatch.h and
 * keymgmt.h fill them in.
 */
#ifndef WARPRSA_PROVIDER_ALGORITHMS_H
#define WARPRSA_PROVIDER_ALGORITHMS_H

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

enum {
    /* Algorithms of one operation at most. OpenSSL 3.5 has 15 RSA signatures,
     * more than any operation of another version. */
    WARPRSA_ALGORITHMS_MAX = 24,
    WARPRSA_KEY_TYPES = 2, /* RSA and RSA-PSS */
};

typedef struct warprsa_signature_originals {
    OSSL_FUNC_signature_newctx_fn *newctx;
    OSSL_FUNC_signature_gettable_ctx_params_fn *gettable;
    OSSL_FUNC_signature_settable_ctx_params_fn *settable;
} warprsa_signature_originals;

typedef struct warprsa_cipher_originals {
    OSSL_FUNC_asym_cipher_newctx_fn *newctx;
    OSSL_FUNC_asym_cipher_gettable_ctx_params_fn *gettable;
    OSSL_FUNC_asym_cipher_settable_ctx_params_fn *settable;
} warprsa_cipher_originals;

typedef struct warprsa_keymgmt_originals {
    OSSL_FUNC_keymgmt_new_fn *new;
    OSSL_FUNC_keymgmt_free_fn *free;
    OSSL_FUNC_keymgmt_import_fn *import;
    OSSL_FUNC_keymgmt_export_fn *export;
    OSSL_FUNC_keymgmt_gettable_params_fn *gettable_params;
    OSSL_FUNC_keymgmt_gen_init_fn *gen_init;
    OSSL_FUNC_keymgmt_gen_set_template_fn *gen_set_template;
    OSSL_FUNC_keymgmt_gen_set_params_fn *gen_set_params;
    OSSL_FUNC_keymgmt_gen_settable_params_fn *gen_settable_params;
    OSSL_FUNC_keymgmt_gen_fn *gen;
    OSSL_FUNC_keymgmt_gen_cleanup_fn *gen_cleanup;
} warprsa_keymgmt_originals;

/*
 * The tables that query_operation() returns, each ended by an entry without a
 * name, and the original functions of each. An algorithm has the same index in
 * its table and among the originals.
 */
typedef struct warprsa_algorithms {
    OSSL_ALGORITHM *signature;
    OSSL_ALGORITHM *asym_cipher;
    OSSL_ALGORITHM *keymgmt;
    warprsa_signature_originals signatures[WARPRSA_ALGORITHMS_MAX];
    warprsa_cipher_originals ciphers[WARPRSA_ALGORITHMS_MAX];
    warprsa_keymgmt_originals keymgmts[WARPRSA_KEY_TYPES];
} warprsa_algorithms;

#endif
