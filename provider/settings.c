/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Noting, reading and copying the settings of operation contexts, and finding
 * out whether a library context has the digests that they name.
 */
#include "provider/settings.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#ifndef OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION /* before OpenSSL 3.2 */
#define OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION "implicit-rejection"
#endif

/* ---- noting ---- */

/* Reads a parameter that is a text. False: it is not there, or none. */
static bool text_of(const OSSL_PARAM params[], const char *name, char *text,
                    size_t size)
{
    const OSSL_PARAM *param = OSSL_PARAM_locate_const(params, name);

    return param != NULL && OSSL_PARAM_get_utf8_string(param, &text, size);
}

static bool has(const OSSL_PARAM params[], const char *name)
{
    return OSSL_PARAM_locate_const(params, name) != NULL;
}

static void note_query(warprsa_digest_query *query, const OSSL_PARAM params[],
                       const char *name)
{
    query->set = text_of(params, name, query->text, sizeof(query->text));
}

void warprsa_settings_note(warprsa_settings *settings,
                           const OSSL_PARAM params[])
{
    if (params == NULL)
        return;
    if (has(params, OSSL_PKEY_PARAM_DIGEST))
        note_query(&settings->digest, params, settings->query_name);
    if (has(params, OSSL_PKEY_PARAM_MGF1_DIGEST)) {
        note_query(&settings->mgf1, params, OSSL_PKEY_PARAM_MGF1_PROPERTIES);
        settings->mgf1_set = true;
    }
    if (has(params, OSSL_SIGNATURE_PARAM_PSS_SALTLEN))
        settings->salt_set = true;
}

/* ---- digests that are not there ---- */

bool warprsa_lacks_digest(OSSL_LIB_CTX *libctx, const char *name,
                          const char *query)
{
    EVP_MD *digest = NULL;

    ERR_set_mark();
    digest = EVP_MD_fetch(libctx, name, query);
    ERR_pop_to_mark();
    EVP_MD_free(digest);
    return digest == NULL;
}

static bool lacks(OSSL_LIB_CTX *libctx, const OSSL_PARAM params[],
                  const char *digest_name, const char *query_name,
                  const char *query)
{
    char digest[WARPRSA_DIGEST_NAME_SIZE], own_query[WARPRSA_QUERY_SIZE];

    return text_of(params, digest_name, digest, sizeof(digest)) &&
           warprsa_lacks_digest(
               libctx, digest,
               text_of(params, query_name, own_query, sizeof(own_query))
                   ? own_query
                   : query);
}

bool warprsa_params_lack_digest(OSSL_LIB_CTX *libctx,
                                const warprsa_settings *settings,
                                const OSSL_PARAM params[], const char *query)
{
    bool result;

    if (params == NULL)
        return false;
    ERR_set_mark(); /* a name that is no digest's may be too long */
    result = lacks(libctx, params, OSSL_PKEY_PARAM_DIGEST, settings->query_name,
                   query) ||
             lacks(libctx, params, OSSL_PKEY_PARAM_MGF1_DIGEST,
                   OSSL_PKEY_PARAM_MGF1_PROPERTIES, query);
    ERR_pop_to_mark();
    return result;
}

/* ---- copying ---- */

/* Appends a text to a list. Returns where the list goes on. */
static OSSL_PARAM *add_text(OSSL_PARAM *at, const char *name, const char *text)
{
    *at = OSSL_PARAM_construct_utf8_string(name, (char *)text, 0);
    return at + 1;
}

/* The same with a digest and its query. */
static OSSL_PARAM *add_digest(OSSL_PARAM *at, const char *name,
                              const char *digest, const char *query_name,
                              const warprsa_digest_query *query)
{
    at = add_text(at, name, digest);
    return query->set ? add_text(at, query_name, query->text) : at;
}

/* A salt length and a digest of MGF1 can be set for PSS only, and stay when the
 * padding is another one then. */
static void list_signature(warprsa_signature_settings *read,
                           const warprsa_settings *settings)
{
    OSSL_PARAM *at = read->first;

    if (read->digest[0] != '\0')
        at = add_digest(at, OSSL_PKEY_PARAM_DIGEST, read->digest,
                        settings->query_name, &settings->digest);
    if (settings->salt_set || settings->mgf1_set) {
        read->pss = RSA_PKCS1_PSS_PADDING;
        *at++ = OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &read->pss);
        *at++ = OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PSS_SALTLEN,
                                         &read->salt_bytes);
    }
    if (settings->mgf1_set)
        at = add_digest(at, OSSL_PKEY_PARAM_MGF1_DIGEST, read->mgf1,
                        OSSL_PKEY_PARAM_MGF1_PROPERTIES, &settings->mgf1);
    *at = OSSL_PARAM_construct_end();
    read->last[0] =
        OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &read->padding);
    read->last[1] = OSSL_PARAM_construct_end();
}

bool warprsa_signature_settings_read(warprsa_signature_settings *read,
                                     const warprsa_settings *settings,
                                     warprsa_get_params_fn *get, void *from)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &read->padding),
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_DIGEST, read->digest,
                                         sizeof(read->digest)),
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_MGF1_DIGEST,
                                         read->mgf1, sizeof(read->mgf1)),
        OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PSS_SALTLEN,
                                 &read->salt_bytes),
        OSSL_PARAM_construct_end(),
    };

    read->digest[0] = '\0';
    read->mgf1[0] = '\0';
    if (get(from, params) <= 0)
        return false;
    list_signature(read, settings);
    return true;
}

/* What a cipher's context is set to. */
typedef struct cipher_settings {
    char digest[WARPRSA_DIGEST_NAME_SIZE], mgf1[WARPRSA_DIGEST_NAME_SIZE];
    int padding;
    void *label; /* the context's */
    size_t label_bytes;
    unsigned client_version, negotiated_version;
    bool has_rejection; /* libcrypto knows implicit rejection */
    unsigned implicit_rejection;
} cipher_settings;

static bool read_cipher(cipher_settings *read, warprsa_get_params_fn *get,
                        void *from)
{
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_ptr(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL,
                                       &read->label, 0),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION,
                                  &read->implicit_rejection),
        OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &read->padding),
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_DIGEST, read->digest,
                                         sizeof(read->digest)),
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_MGF1_DIGEST,
                                         read->mgf1, sizeof(read->mgf1)),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
                                  &read->client_version),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION,
                                  &read->negotiated_version),
        OSSL_PARAM_construct_end(),
    };

    *read = (cipher_settings){.padding = 0};
    if (get(from, params) <= 0)
        return false;
    if (read->label != NULL)
        read->label_bytes = params[0].return_size;
    read->has_rejection = OSSL_PARAM_modified(&params[1]);
    return true;
}

bool warprsa_cipher_settings_copy(const warprsa_settings *settings,
                                  warprsa_get_params_fn *get, void *from,
                                  warprsa_set_params_fn *set, void *to)
{
    OSSL_PARAM list[10], *at = list;
    cipher_settings read;

    if (!read_cipher(&read, get, from))
        return false;
    if (read.digest[0] != '\0')
        at = add_digest(at, OSSL_PKEY_PARAM_DIGEST, read.digest,
                        settings->query_name, &settings->digest);
    if (settings->mgf1_set && read.mgf1[0] != '\0')
        at = add_digest(at, OSSL_PKEY_PARAM_MGF1_DIGEST, read.mgf1,
                        OSSL_PKEY_PARAM_MGF1_PROPERTIES, &settings->mgf1);
    if (read.label_bytes > 0)
        *at++ = OSSL_PARAM_construct_octet_string(
            OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, read.label, read.label_bytes);
    if (read.has_rejection)
        *at++ =
            OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_IMPLICIT_REJECTION,
                                      &read.implicit_rejection);
    *at++ = OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &read.padding);
    *at++ = OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
                                      &read.client_version);
    *at++ =
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION,
                                  &read.negotiated_version);
    *at = OSSL_PARAM_construct_end();
    return set(to, list) > 0;
}
