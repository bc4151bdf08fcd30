/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The settings of an operation context, as far as they have to go along when
 * the operation moves to the caller's library context (callers_context.h). Most
 * can be read from the default provider's context. The others are noted here
 * when they are set.
 */
#ifndef WARPRSA_PROVIDER_SETTINGS_H
#define WARPRSA_PROVIDER_SETTINGS_H

#include <stdbool.h>

#include <openssl/params.h>

enum {
    WARPRSA_DIGEST_NAME_SIZE = 64, /* libcrypto's own limit is 50 */
    WARPRSA_QUERY_SIZE = 256,      /* as libcrypto's own */
};

/* A query for a digest. */
typedef struct warprsa_digest_query {
    bool set;
    char text[WARPRSA_QUERY_SIZE];
} warprsa_digest_query;

/* What can't be read from a context. May be copied. */
typedef struct warprsa_settings {
    const char *query_name; /* the parameter with the digest's query */
    warprsa_digest_query digest, mgf1;
    bool mgf1_set; /* MGF1's digest does not follow the other one */
    bool salt_set; /* the salt length, in a signature */
} warprsa_settings;

/* Notes parameters that have been set. One thread. */
void warprsa_settings_note(warprsa_settings *settings,
                           const OSSL_PARAM params[]);

/* Whether a library context lacks the digest `name`. `query` may be NULL.
 * Leaves no error on the queue. Any thread. */
bool warprsa_lacks_digest(OSSL_LIB_CTX *libctx, const char *name,
                          const char *query);

/* The same of the digests that parameters name, if they name any. `query` is
 * for those without one of their own. `params` may be NULL. Any thread. */
bool warprsa_params_lack_digest(OSSL_LIB_CTX *libctx,
                                const warprsa_settings *settings,
                                const OSSL_PARAM params[], const char *query);

typedef int warprsa_get_params_fn(void *ctx, OSSL_PARAM params[]);
typedef int warprsa_set_params_fn(void *ctx, const OSSL_PARAM params[]);

/* What a signature's context is set to, in the order in which another one takes
 * it. The lists point to the fields, so it can't be copied. */
typedef struct warprsa_signature_settings {
    char digest[WARPRSA_DIGEST_NAME_SIZE]; /* empty: none */
    char mgf1[WARPRSA_DIGEST_NAME_SIZE];
    int padding, pss, salt_bytes;
    OSSL_PARAM first[7]; /* to begin with: digests, and what needs PSS */
    OSSL_PARAM last[2];  /* when it has begun: the padding */
} warprsa_signature_settings;

/* Reads them from the context `from`. False: error. One thread. */
bool warprsa_signature_settings_read(warprsa_signature_settings *read,
                                     const warprsa_settings *settings,
                                     warprsa_get_params_fn *get, void *from);

/* Copies the settings of the cipher's context `from` to `to`. False: it can't
 * be done. One thread. */
bool warprsa_cipher_settings_copy(const warprsa_settings *settings,
                                  warprsa_get_params_fn *get, void *from,
                                  warprsa_set_params_fn *set, void *to);

#endif
