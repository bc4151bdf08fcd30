/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Finding what padding takes from libcrypto; see padding_library.h.
 */
#include "batching/vault/padding_library.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/x509.h>

/* The default provider's table of functions for RSA. */
static const OSSL_DISPATCH *find_table(OSSL_PROVIDER *provider, int operation)
{
    int no_cache = 0;
    const OSSL_ALGORITHM *all =
        OSSL_PROVIDER_query_operation(provider, operation, &no_cache);
    const OSSL_DISPATCH *found = NULL;

    /* Names are separated by colons, and RSA is the first of its own. */
    for (; all != NULL && all->algorithm_names != NULL && found == NULL; all++)
        if (strncmp(all->algorithm_names, "RSA:", 4) == 0 ||
            strcmp(all->algorithm_names, "RSA") == 0)
            found = all->implementation;
    return found;
}

static bool find_cipher(warprsa_padding_library *library)
{
    const OSSL_DISPATCH *table =
        find_table(library->provider, OSSL_OP_ASYM_CIPHER);
    warprsa_padding_cipher *cipher = &library->cipher;

    for (; table != NULL && table->function_id != 0; table++)
        switch (table->function_id) {
        case OSSL_FUNC_ASYM_CIPHER_NEWCTX:
            cipher->newctx = OSSL_FUNC_asym_cipher_newctx(table);
            break;
        case OSSL_FUNC_ASYM_CIPHER_FREECTX:
            cipher->freectx = OSSL_FUNC_asym_cipher_freectx(table);
            break;
        case OSSL_FUNC_ASYM_CIPHER_DECRYPT_INIT:
            cipher->decrypt_init = OSSL_FUNC_asym_cipher_decrypt_init(table);
            break;
        case OSSL_FUNC_ASYM_CIPHER_DECRYPT:
            cipher->decrypt = OSSL_FUNC_asym_cipher_decrypt(table);
            break;
        }
    return cipher->newctx != NULL && cipher->freectx != NULL &&
           cipher->decrypt_init != NULL && cipher->decrypt != NULL;
}

static bool find_key_new(warprsa_padding_library *library)
{
    const OSSL_DISPATCH *table = find_table(library->provider, OSSL_OP_KEYMGMT);

    for (; table != NULL && table->function_id != 0; table++)
        if (table->function_id == OSSL_FUNC_KEYMGMT_NEW)
            library->key_new = OSSL_FUNC_keymgmt_new(table);
    return library->key_new != NULL;
}

/* The DER of the DigestInfo (RFC 8017, 9.2) of an empty hash. NULL: no memory,
 * or the digest has no identifier. The caller frees it with X509_SIG_free(). */
static X509_SIG *empty_digest_info(const EVP_MD *md)
{
    const int type = EVP_MD_get_type(md);
    X509_SIG *info = X509_SIG_new();
    X509_ALGOR *algorithm = NULL;
    ASN1_OCTET_STRING *hash = NULL;
    static const uint8_t zeros[WARPRSA_USE_DIGEST_BYTES_MAX];

    if (info == NULL)
        return NULL;
    X509_SIG_getm(info, &algorithm, &hash);
    if (type != NID_undef &&
        X509_ALGOR_set0(algorithm, OBJ_nid2obj(type), V_ASN1_NULL, NULL) == 1 &&
        ASN1_OCTET_STRING_set(hash, zeros, EVP_MD_get_size(md)) == 1)
        return info;
    X509_SIG_free(info);
    return NULL;
}

/* Fills in what of a DigestInfo stands before the hash. */
static bool fill_info(warprsa_padding_digest *digest)
{
    X509_SIG *info = empty_digest_info(digest->md);
    unsigned char *der = NULL;
    const int bytes = info == NULL ? -1 : i2d_X509_SIG(info, &der);
    const int hash_bytes = EVP_MD_get_size(digest->md);
    const bool ok = bytes > hash_bytes &&
                    bytes - hash_bytes <= WARPRSA_DIGEST_INFO_BYTES_MAX;

    if (ok) {
        digest->info_bytes = (size_t)(bytes - hash_bytes);
        memcpy(digest->info, der, digest->info_bytes);
    }
    OPENSSL_free(der);
    X509_SIG_free(info);
    return ok;
}

/* A libcrypto may be built without some digests; uses of them are refused. */
static void find_digests(warprsa_padding_library *library)
{
    for (unsigned i = WARPRSA_DIGEST_NONE + 1; i < WARPRSA_USE_DIGESTS; i++) {
        warprsa_padding_digest *digest = &library->digests[i];

        digest->md =
            EVP_MD_fetch(library->libctx, warprsa_use_digest_name(i), NULL);
        if (digest->md == NULL)
            continue;
        /* MD5 with SHA-1 is signed as it is (RFC 4346, 7.4.3). */
        if ((unsigned)EVP_MD_get_size(digest->md) !=
                warprsa_use_digest_bytes(i) ||
            (i != WARPRSA_DIGEST_MD5_SHA1 && !fill_info(digest))) {
            EVP_MD_free(digest->md);
            digest->md = NULL;
        }
    }
    ERR_clear_error();
}

warprsa_padding_library *warprsa_padding_library_new(void)
{
    warprsa_padding_library *library = calloc(1, sizeof(*library));

    if (library == NULL)
        return NULL;
    library->libctx = OSSL_LIB_CTX_new();
    if (library->libctx != NULL)
        library->provider = OSSL_PROVIDER_load(library->libctx, "default");
    if (library->provider != NULL) {
        library->provctx = OSSL_PROVIDER_get0_provider_ctx(library->provider);
        if (find_cipher(library) && find_key_new(library)) {
            find_digests(library);
            return library;
        }
    }
    warprsa_padding_library_free(library);
    return NULL;
}

void warprsa_padding_library_free(warprsa_padding_library *library)
{
    if (library == NULL)
        return;
    for (unsigned i = 0; i < WARPRSA_USE_DIGESTS; i++)
        EVP_MD_free(library->digests[i].md);
    if (library->provider != NULL)
        OSSL_PROVIDER_unload(library->provider);
    OSSL_LIB_CTX_free(library->libctx);
    free(library);
}

RSA *warprsa_padding_library_rsa(const warprsa_padding_library *library)
{
    /* The default provider's key data of RSA is an RSA object in each version
     * of libcrypto. The unit tests compare what is made of that. */
    return library->key_new(library->provctx);
}

void warprsa_padding_take_errors(warprsa_use_errors *errors)
{
    *errors = (warprsa_use_errors){{0}};
    for (int i = 0; i < WARPRSA_USE_ERRORS_MAX; i++)
        errors->codes[i] = (uint32_t)ERR_get_error();
    ERR_clear_error();
}
