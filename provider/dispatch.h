/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * default's tables of RSA algorithms, taken over whole under properties of
 * our own. Only functions that take a provider context, or that make or copy
 * keys, are replaced, by thunks that call the original with default's context.
 */
#ifndef WARPRSA_PROVIDER_DISPATCH_H
#define WARPRSA_PROVIDER_DISPATCH_H

#include <stdbool.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>

struct warprsa_context;

enum {
    /* Algorithms of one operation at most; 3.5 has 15 RSA signatures. */
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

typedef struct warprsa_algorithms {
    OSSL_ALGORITHM *signature;
    OSSL_ALGORITHM *asym_cipher;
    OSSL_ALGORITHM *keymgmt;
    warprsa_signature_originals signatures[WARPRSA_ALGORITHMS_MAX];
    warprsa_cipher_originals ciphers[WARPRSA_ALGORITHMS_MAX];
    warprsa_keymgmt_originals keymgmts[WARPRSA_KEY_TYPES];
} warprsa_algorithms;

/* Builds the context's tables from those of its default provider. False (after
 * raising an error) if that has no RSA or memory is short: what there is of
 * them is freed by warprsa_dispatch_free() all the same. One thread, at load. */
bool warprsa_dispatch_init(struct warprsa_context *context);
void warprsa_dispatch_free(struct warprsa_context *context);

/* One thunk of a table: takes the place of the entry with this id. */
typedef struct warprsa_thunk {
    int function_id;
    void (*function)(void);
} warprsa_thunk;

/*
 * A copy of `table` with the thunks (ended by id 0) in place of the entries of
 * their ids; a thunk with a NULL function removes its entry, ids above id_max
 * (unknown when this was written) are removed too. NULL: no memory. Freed by
 * OPENSSL_free().
 */
OSSL_DISPATCH *warprsa_dispatch_wrap(const OSSL_DISPATCH *table,
                                     const warprsa_thunk *thunks, int id_max);

/* The function of an id; NULL if the table hasn't it. */
void (*warprsa_dispatch_find(const OSSL_DISPATCH *table, int id))(void);

/* keymgmt.c: the wrapped KEYMGMT table of a type (the index in keymgmts),
 * whose originals it fills in. NULL: no memory. */
OSSL_DISPATCH *warprsa_keymgmt_wrap(warprsa_keymgmt_originals *originals,
                                    unsigned type, const OSSL_DISPATCH *table);

#endif
