/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keys and the warprsad of tests of references; see references_fixture.h.
 */
#include "tests/unit/provider/references_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/async.h>
#include <openssl/bio.h>
#include <openssl/core.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

OSSL_provider_init_fn OSSL_provider_init;

OSSL_LIB_CTX *subject;
static OSSL_PROVIDER *default_provider, *our_provider;
EVP_PKEY *rsa, *pss;
EVP_PKEY *rsa_reference, *pss_reference;

/* ---- warprsad ---- */

unsigned uses;
warprsa_key_use last;
bool away, pauses;
EVP_PKEY *vault_key;

static const EVP_MD *digest_of(unsigned digest)
{
    return EVP_get_digestbyname(warprsa_use_digest_name(digest));
}

static bool set_oaep(EVP_PKEY_CTX *ctx, const warprsa_key_use *use)
{
    void *label = OPENSSL_memdup(use->label, sizeof(use->label));

    return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_OAEP_PADDING) > 0 &&
           EVP_PKEY_CTX_set_rsa_oaep_md(ctx, digest_of(use->digest)) > 0 &&
           EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, digest_of(use->mgf1_digest)) > 0 &&
           EVP_PKEY_CTX_set0_rsa_oaep_label(ctx, label, use->label_bytes) > 0;
}

static bool set_tls(EVP_PKEY_CTX *ctx, const warprsa_key_use *use)
{
    unsigned client = use->tls_client_version;
    unsigned alternative = use->tls_alternative_version;
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
                                  &client),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION,
                                  &alternative),
        OSSL_PARAM_construct_end(),
    };

    return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_WITH_TLS_PADDING) > 0 &&
           EVP_PKEY_CTX_set_params(ctx, params) > 0;
}

static bool set_padding(EVP_PKEY_CTX *ctx, const warprsa_key_use *use)
{
    switch ((warprsa_use_padding)use->padding) {
    case WARPRSA_PADDING_PKCS1:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) > 0;
    case WARPRSA_PADDING_PSS:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) > 0 &&
               EVP_PKEY_CTX_set_signature_md(ctx, digest_of(use->digest)) > 0 &&
               EVP_PKEY_CTX_set_rsa_mgf1_md(ctx, digest_of(use->mgf1_digest)) >
                   0 &&
               EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, use->salt_bytes) > 0;
    case WARPRSA_PADDING_OAEP:
        return set_oaep(ctx, use);
    case WARPRSA_PADDING_TLS:
        return set_tls(ctx, use);
    default:
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_NO_PADDING) > 0;
    }
}

static int compute(const warprsa_key_use *use, const uint8_t *input,
                   uint8_t *output)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, vault_key, NULL);
    bool sign = use->operation == WARPRSA_USE_SIGN;
    size_t length = (size_t)EVP_PKEY_get_size(vault_key);
    int ok = 0;

    ok = (sign ? EVP_PKEY_sign_init(ctx) : EVP_PKEY_decrypt_init(ctx)) > 0 &&
         set_padding(ctx, use) &&
         (sign ? EVP_PKEY_sign(ctx, output, &length, input, use->input_bytes)
               : EVP_PKEY_decrypt(ctx, output, &length, input,
                                  use->input_bytes)) > 0;
    EVP_PKEY_CTX_free(ctx);
    return ok ? (int)length : -1;
}

int __real_warprsa_reference_use(warprsa_rsa *ours, const warprsa_key_use *use,
                                 const uint8_t *input, uint8_t *output);
int __wrap_warprsa_reference_use(warprsa_rsa *ours, const warprsa_key_use *use,
                                 const uint8_t *input, uint8_t *output);
int __wrap_warprsa_reference_use(warprsa_rsa *ours, const warprsa_key_use *use,
                                 const uint8_t *input, uint8_t *output)
{
    uses++;
    last = *use;
    if (away)
        return __real_warprsa_reference_use(ours, use, input, output);
    if (pauses)
        ASYNC_pause_job();
    if (warprsa_key_use_fault(use, ours->reference->modulus_bytes) != NULL)
        abort();
    return compute(use, input, output);
}

char asked_socket[WARPRSA_REFERENCE_SOCKET_SIZE];

bool __real_warprsa_reference_lookup(warprsa_context *context,
                                     const char *socket, const char *name,
                                     warprsa_reference *out);
bool __wrap_warprsa_reference_lookup(warprsa_context *context,
                                     const char *socket, const char *name,
                                     warprsa_reference *out);
bool __wrap_warprsa_reference_lookup(warprsa_context *context,
                                     const char *socket, const char *name,
                                     warprsa_reference *out)
{
    snprintf(asked_socket, sizeof(asked_socket), "%s", socket);
    if (strcmp(name, "www") != 0)
        return __real_warprsa_reference_lookup(context, socket, name, out);
    make_reference(vault_key, out);
    return true;
}

/* ---- keys ---- */

void make_reference(EVP_PKEY *key, warprsa_reference *out)
{
    unsigned char *at = out->spki;

    memset(out, 0, sizeof(*out));
    strcpy(out->name, "www");
    assert_true(i2d_PUBKEY(key, NULL) <= (int)sizeof(out->spki));
    out->spki_bytes = (size_t)i2d_PUBKEY(key, &at);
}

EVP_PKEY *read_key(const char *text)
{
    BIO *bio = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key =
        PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);

    BIO_free(bio);
    return key;
}

static EVP_PKEY *reference_to(EVP_PKEY *key)
{
    warprsa_reference reference;
    char text[WARPRSA_REFERENCE_PEM_MAX];
    EVP_PKEY *made = NULL;

    make_reference(key, &reference);
    assert_true(warprsa_reference_write_pem(&reference, text, sizeof(text)) >
                0);
    made = read_key(text);
    if (made == NULL)
        ERR_print_errors_fp(stderr);
    assert_non_null(made);
    assert_int_equal(ERR_peek_error(), 0);
    return made;
}

static int setup(void **state)
{
    const char *preferred = *state;

    subject = OSSL_LIB_CTX_new();
    default_provider = OSSL_PROVIDER_load(subject, "default");
    assert_int_equal(
        OSSL_PROVIDER_add_builtin(subject, "warprsa", OSSL_provider_init), 1);
    our_provider = OSSL_PROVIDER_load(subject, "warprsa");
    assert_non_null(our_provider);
    if (preferred != NULL)
        assert_int_equal(EVP_set_default_properties(subject, preferred), 1);
    rsa = key_make(NULL, "RSA", 2048, 2);
    pss = key_make(NULL, "RSA-PSS", 1024, 2);
    rsa_reference = reference_to(rsa);
    pss_reference = reference_to(pss);
    vault_key = rsa;
    return 0;
}

int references_teardown(void **state)
{
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(pss);
    EVP_PKEY_free(rsa_reference);
    EVP_PKEY_free(pss_reference);
    assert_int_equal(OSSL_PROVIDER_unload(our_provider), 1);
    assert_int_equal(OSSL_PROVIDER_unload(default_provider), 1);
    OSSL_LIB_CTX_free(subject);
    return 0;
}

bool raised(int reason, const char *text)
{
    unsigned long code = 0;
    const char *data = NULL;
    int flags = 0;
    bool found = false;

    while ((code = ERR_get_error_all(NULL, NULL, NULL, &data, &flags)) != 0)
        found =
            found || (ERR_GET_REASON(code) == reason &&
                      (flags & ERR_TXT_STRING) && strstr(data, text) != NULL);
    return found;
}

X509 *certificate_of(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);

    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               (const unsigned char *)"www", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

int references_setup_preferred(void **state)
{
    *state = (void *)"?provider=warprsa";
    return setup(state);
}

int references_setup_plain(void **state)
{
    *state = NULL;
    return setup(state);
}
