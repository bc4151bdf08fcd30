/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the settings of the default provider's contexts.
 */
#include "provider/reference_padding.h"

#include <ctype.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rsa.h>

enum {
    NAME_SIZE = 64, /* of a digest; libcrypto's own limit is 50 */
};

/* Finds a digest by a name that key_use.h has, or by libcrypto's "SHA2-256" and
 * the like. -1: it is another name. */
static int digest_by_word(const char *name)
{
    static const char sha2[] = "sha2-";
    char word[NAME_SIZE];
    size_t length = 0;

    for (const char *at = name; *at != '\0'; at++) {
        word[length++] = *at == '/' ? '-' : (char)tolower((unsigned char)*at);
        if (length == strlen(sha2) && at == name + length - 1 &&
            memcmp(word, sha2, length) == 0)
            length = strlen("sha");
    }
    return warprsa_use_digest_named(word, length);
}

/* Finds a digest by any name that libcrypto has for it. */
static int digest_by_any_name(const warprsa_context *context, const char *name)
{
    EVP_MD *digest = EVP_MD_fetch(context->libctx, name, NULL);
    int number = -1;

    for (int i = WARPRSA_DIGEST_NONE + 1;
         digest != NULL && number < 0 && i < WARPRSA_USE_DIGESTS; i++)
        if (EVP_MD_is_a(digest, warprsa_use_digest_name((unsigned)i)))
            number = i;
    EVP_MD_free(digest);
    return number;
}

/* Sets the number of the digest `name`. False: it has none. */
static bool set_digest(const warprsa_context *context, const char *name,
                       uint8_t *out)
{
    int number = digest_by_word(name);

    if (number <= WARPRSA_DIGEST_NONE)
        number = digest_by_any_name(context, name);
    *out = number <= WARPRSA_DIGEST_NONE ? 0 : (uint8_t)number;
    return *out != 0;
}

/* Sets both digests. MGF1 has the padding's if it has no other. */
static bool set_digests(const warprsa_context *context, warprsa_key_use *use,
                        const char *digest, const char *mgf1)
{
    return set_digest(context, digest, &use->digest) &&
           set_digest(context, mgf1[0] == '\0' ? digest : mgf1,
                      &use->mgf1_digest);
}

static int pad_mode(warprsa_get_params_fn *get, void *wrapped)
{
    int mode = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &mode),
        OSSL_PARAM_construct_end(),
    };

    return get(wrapped, params) > 0 ? mode : 0;
}

static bool read_pss(const warprsa_context *context, warprsa_get_params_fn *get,
                     void *wrapped, warprsa_key_use *use)
{
    char digest[NAME_SIZE] = "", mgf1[NAME_SIZE] = "";
    int salt = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST, digest,
                                         sizeof(digest)),
        OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_MGF1_DIGEST, mgf1,
                                         sizeof(mgf1)),
        OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, &salt),
        OSSL_PARAM_construct_end(),
    };

    *use = (warprsa_key_use){
        .operation = WARPRSA_USE_SIGN,
        .padding = WARPRSA_PADDING_PSS,
    };
    if (get(wrapped, params) <= 0 || !set_digests(context, use, digest, mgf1))
        return false;
    use->salt_bytes = salt;
    use->input_bytes = (uint16_t)warprsa_use_digest_bytes(use->digest);
    return true;
}

/* libcrypto signs a hash of a digest by PKCS #1 v1.5, and numbers of none. */
static bool read_plain(const warprsa_context *context,
                       warprsa_get_params_fn *get, void *wrapped,
                       warprsa_use_padding padding, warprsa_key_use *use)
{
    char digest[NAME_SIZE] = "";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST, digest,
                                         sizeof(digest)),
        OSSL_PARAM_construct_end(),
    };

    *use = (warprsa_key_use){
        .operation = WARPRSA_USE_SIGN,
        .padding = (uint8_t)padding,
    };
    if (get(wrapped, params) <= 0)
        return false;
    if (padding == WARPRSA_PADDING_NONE)
        return digest[0] == '\0';
    if (digest[0] == '\0' || !set_digest(context, digest, &use->digest))
        return false;
    use->input_bytes = (uint16_t)warprsa_use_digest_bytes(use->digest);
    return true;
}

bool warprsa_reference_signs(const warprsa_context *context,
                             warprsa_get_params_fn *get, void *wrapped,
                             warprsa_key_use *use)
{
    bool ok = false;

    ERR_set_mark();
    switch (pad_mode(get, wrapped)) {
    case RSA_NO_PADDING:
        ok = read_plain(context, get, wrapped, WARPRSA_PADDING_NONE, use);
        break;
    case RSA_PKCS1_PADDING:
        ok = read_plain(context, get, wrapped, WARPRSA_PADDING_PKCS1, use);
        break;
    case RSA_PKCS1_PSS_PADDING:
        ok = read_pss(context, get, wrapped, use);
        break;
    default:
        break;
    }
    ERR_pop_to_mark();
    return ok;
}

static bool read_oaep(const warprsa_context *context,
                      warprsa_get_params_fn *get, void *wrapped,
                      warprsa_key_use *use)
{
    char digest[NAME_SIZE] = "", mgf1[NAME_SIZE] = "";
    void *label = NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST,
                                         digest, sizeof(digest)),
        OSSL_PARAM_construct_utf8_string(OSSL_ASYM_CIPHER_PARAM_MGF1_DIGEST,
                                         mgf1, sizeof(mgf1)),
        OSSL_PARAM_construct_octet_ptr(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL,
                                       &label, 0),
        OSSL_PARAM_construct_end(),
    };

    *use = (warprsa_key_use){.padding = WARPRSA_PADDING_OAEP};
    if (get(wrapped, params) <= 0 ||
        !set_digests(context, use, digest[0] == '\0' ? "SHA1" : digest, mgf1) ||
        (label != NULL && params[2].return_size > sizeof(use->label)))
        return false;
    if (label != NULL) {
        use->label_bytes = (uint16_t)params[2].return_size;
        memcpy(use->label, label, use->label_bytes);
    }
    return true;
}

static bool read_tls(warprsa_get_params_fn *get, void *wrapped,
                     warprsa_key_use *use)
{
    unsigned client = 0, alternative = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
                                  &client),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION,
                                  &alternative),
        OSSL_PARAM_construct_end(),
    };

    *use = (warprsa_key_use){.padding = WARPRSA_PADDING_TLS};
    if (get(wrapped, params) <= 0 || client > UINT16_MAX ||
        alternative > UINT16_MAX)
        return false;
    use->tls_client_version = (uint16_t)client;
    use->tls_alternative_version = (uint16_t)alternative;
    return true;
}

bool warprsa_reference_removes_padding(const warprsa_context *context,
                                       warprsa_get_params_fn *get,
                                       void *wrapped, warprsa_key_use *use)
{
    int mode = 0;
    bool ok = false;

    ERR_set_mark();
    mode = pad_mode(get, wrapped);
    ok = (mode == RSA_PKCS1_OAEP_PADDING &&
          read_oaep(context, get, wrapped, use)) ||
         (mode == RSA_PKCS1_WITH_TLS_PADDING && read_tls(get, wrapped, use));
    ERR_pop_to_mark();
    use->operation = WARPRSA_USE_DECRYPT;
    return ok;
}

EVP_MD_CTX *warprsa_reference_hashing_new(const warprsa_context *context,
                                          const warprsa_key_use *use)
{
    EVP_MD *digest = EVP_MD_fetch(context->libctx,
                                  warprsa_use_digest_name(use->digest), NULL);
    EVP_MD_CTX *hashing = EVP_MD_CTX_new();

    if (digest == NULL || hashing == NULL ||
        !EVP_DigestInit_ex2(hashing, digest, NULL)) {
        EVP_MD_CTX_free(hashing);
        hashing = NULL;
    }
    EVP_MD_free(digest);
    return hashing;
}
