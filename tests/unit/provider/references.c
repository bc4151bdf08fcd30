/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Keys that are references, used as programs use private keys. warprsad is
 * played by this program, which computes each use with the private key, by the
 * default provider. What comes of it has to be what an ordinary key gives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/async.h>
#include <openssl/bio.h>
#include <openssl/core.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/store.h>
#include <openssl/x509.h>

#include "provider/reference_use.h"
#include "tests/unit/support/provider_support.h"

OSSL_provider_init_fn OSSL_provider_init;

static OSSL_LIB_CTX *subject;
static OSSL_PROVIDER *default_provider, *our_provider;
static EVP_PKEY *rsa, *pss; /* private keys, in the default context */
static EVP_PKEY *rsa_reference, *pss_reference;

/* ---- warprsad ---- */

static unsigned uses;
static warprsa_key_use last;
static bool away, pauses;
static EVP_PKEY *vault_key;

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

static void make_reference(EVP_PKEY *key, warprsa_reference *out);

static char asked_socket[WARPRSA_REFERENCE_SOCKET_SIZE];

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

static void make_reference(EVP_PKEY *key, warprsa_reference *out)
{
    unsigned char *at = out->spki;

    memset(out, 0, sizeof(*out));
    strcpy(out->name, "www");
    assert_true(i2d_PUBKEY(key, NULL) <= (int)sizeof(out->spki));
    out->spki_bytes = (size_t)i2d_PUBKEY(key, &at);
}

static EVP_PKEY *read_key(const char *text)
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

static int teardown(void **state)
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

/* Whether an error of this provider has been raised; empties the queue. */
static bool raised(int reason, const char *text)
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

static void assert_equal_numbers(const EVP_PKEY *a, const EVP_PKEY *b,
                                 const char *name)
{
    BIGNUM *of_a = NULL, *of_b = NULL;

    assert_int_equal(EVP_PKEY_get_bn_param(a, name, &of_a), 1);
    assert_int_equal(EVP_PKEY_get_bn_param(b, name, &of_b), 1);
    assert_int_equal(BN_cmp(of_a, of_b), 0);
    BN_free(of_a);
    BN_free(of_b);
}

static void assert_same_print(EVP_PKEY *a, EVP_PKEY *b)
{
    BIO *of_a = BIO_new(BIO_s_mem()), *of_b = BIO_new(BIO_s_mem());
    char *text_a = NULL, *text_b = NULL;
    long length = 0;

    assert_int_equal(EVP_PKEY_print_public(of_a, a, 0, NULL), 1);
    assert_int_equal(EVP_PKEY_print_public(of_b, b, 0, NULL), 1);
    length = BIO_get_mem_data(of_a, &text_a);
    assert_true(length > 0);
    assert_int_equal(length, BIO_get_mem_data(of_b, &text_b));
    assert_memory_equal(text_a, text_b, (size_t)length);
    BIO_free(of_a);
    BIO_free(of_b);
}

static X509 *certificate_of(EVP_PKEY *key)
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

static void assert_is_reference(EVP_PKEY *reference, EVP_PKEY *key)
{
    X509 *certificate = certificate_of(key);
    EVP_PKEY *public_key = X509_get_pubkey(certificate);
    EVP_PKEY *stranger = key_make(NULL, "RSA", 1024, 2);

    assert_string_equal(
        OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(reference)), "warprsa");
    assert_int_equal(EVP_PKEY_get_size(reference), EVP_PKEY_get_size(key));
    assert_int_equal(EVP_PKEY_get_bits(reference), EVP_PKEY_get_bits(key));
    assert_int_equal(EVP_PKEY_get_security_bits(reference),
                     EVP_PKEY_get_security_bits(key));
    assert_equal_numbers(reference, key, OSSL_PKEY_PARAM_RSA_N);
    assert_equal_numbers(reference, key, OSSL_PKEY_PARAM_RSA_E);
    assert_int_equal(EVP_PKEY_eq(reference, public_key), 1);
    assert_int_equal(EVP_PKEY_eq(public_key, reference), 1);
    assert_int_equal(EVP_PKEY_eq(reference, key), 1);
    assert_int_not_equal(EVP_PKEY_eq(reference, stranger), 1);
    ERR_clear_error();
    assert_int_equal(X509_check_private_key(certificate, reference), 1);
    assert_same_print(reference, key);
    assert_int_equal(ERR_peek_error(), 0);
    EVP_PKEY_free(stranger);
    EVP_PKEY_free(public_key);
    X509_free(certificate);
}

TEST(has_the_public_numbers)
{
    assert_is_reference(rsa_reference, rsa);
    assert_is_reference(pss_reference, pss);
    assert_true(EVP_PKEY_is_a(rsa_reference, "RSA"));
    assert_true(EVP_PKEY_is_a(pss_reference, "RSA-PSS"));
}

static void assert_private_numbers_stay(EVP_PKEY *reference)
{
    OSSL_PARAM *params = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    BIGNUM *d = NULL;

    assert_int_equal(EVP_PKEY_todata(reference, EVP_PKEY_KEYPAIR, &params), 0);
    assert_true(raised(WARPRSA_R_PRIVATE_NUMBERS, "key www is a reference"));
    assert_int_equal(
        PEM_write_bio_PrivateKey(bio, reference, NULL, NULL, 0, NULL, NULL), 0);
    assert_true(raised(WARPRSA_R_PRIVATE_NUMBERS, "never leave warprsad"));
    assert_int_not_equal(EVP_PKEY_print_private(bio, reference, 0, NULL), 1);
    assert_true(raised(WARPRSA_R_PRIVATE_NUMBERS, "never leave warprsad"));
    assert_int_equal(
        EVP_PKEY_get_bn_param(reference, OSSL_PKEY_PARAM_RSA_D, &d), 0);
    ERR_clear_error();
    assert_int_equal(EVP_PKEY_todata(reference, EVP_PKEY_PUBLIC_KEY, &params),
                     1);
    assert_int_equal(ERR_peek_error(), 0);
    OSSL_PARAM_free(params);
    BIO_free(bio);
}

TEST(private_numbers_stay)
{
    assert_private_numbers_stay(rsa_reference);
    assert_private_numbers_stay(pss_reference);
}

TEST(copies_are_references)
{
    EVP_PKEY *copy = EVP_PKEY_dup(rsa_reference);

    assert_non_null(copy);
    assert_is_reference(copy, rsa);
    assert_private_numbers_stay(copy);
    assert_true(signs_right(subject, copy, rsa));
    EVP_PKEY_free(copy);
}

/* ---- what is no reference ---- */

static void assert_no_key(const warprsa_reference *reference)
{
    char text[WARPRSA_REFERENCE_PEM_MAX];

    assert_true(warprsa_reference_write_pem(reference, text, sizeof(text)) > 0);
    assert_null(read_key(text));
    assert_true(raised(WARPRSA_R_REFERENCE, "key reference www"));
}

TEST(wrong_public_keys)
{
    EVP_PKEY *short_key = key_make(NULL, "RSA", 512, 2);
    EVP_PKEY *curve = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    warprsa_reference reference;

    make_reference(short_key, &reference);
    assert_no_key(&reference);
    make_reference(curve, &reference);
    assert_no_key(&reference);
    make_reference(rsa, &reference);
    reference.spki[reference.spki_bytes - 2] = 0; /* e is 0x010001 */
    reference.spki[reference.spki_bytes - 3] = 0; /* a superfluous zero */
    assert_no_key(&reference);
    make_reference(rsa, &reference);
    reference.spki[5] ^= 1;
    assert_no_key(&reference);
    EVP_PKEY_free(short_key);
    EVP_PKEY_free(curve);
}

TEST(malformed_text)
{
    assert_null(read_key("-----BEGIN WARPRSA KEY REFERENCE-----\n"
                         "MA8CAQEwAQUMA3d3d4ACL3M\n"
                         "-----END WARPRSA KEY REFERENCE-----\n"));
    assert_true(raised(WARPRSA_R_REFERENCE, "not base64"));
    assert_null(read_key("-----BEGIN WARPRSA KEY REFERENCE-----\nMA8C\n"));
    assert_true(raised(WARPRSA_R_REFERENCE, "no line with END"));
    assert_null(read_key("-----BEGIN WARPRSA KEY REFERENCES-----\n"
                         "-----END WARPRSA KEY REFERENCES-----\n"));
    assert_false(raised(WARPRSA_R_REFERENCE, ""));
    assert_null(read_key(""));
    ERR_clear_error();
}

/* An ordinary key in one file with a certificate, a reference, and text. */
TEST(among_others)
{
    BIO *bio = BIO_new(BIO_s_mem());
    X509 *certificate = certificate_of(rsa), *read = NULL;
    warprsa_reference reference;
    char text[WARPRSA_REFERENCE_PEM_MAX];
    EVP_PKEY *key = NULL;

    make_reference(rsa, &reference);
    warprsa_reference_write_pem(&reference, text, sizeof(text));
    PEM_write_bio_X509(bio, certificate);
    BIO_printf(bio, "a comment\n%s", text);
    PEM_write_bio_PrivateKey(bio, rsa, NULL, NULL, 0, NULL, NULL);
    key = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);
    assert_non_null(key);
    assert_is_reference(key, rsa);
    EVP_PKEY_free(key);
    key = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);
    assert_non_null(key);
    assert_string_equal(OSSL_PROVIDER_get0_name(EVP_PKEY_get0_provider(key)),
                        "default");
    EVP_PKEY_free(key);
    PEM_write_bio_X509(bio, certificate);
    BIO_printf(bio, "%s", text);
    read = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    assert_non_null(read);
    key = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, subject, NULL);
    assert_non_null(key);
    assert_int_equal(ERR_peek_error(), 0);
    EVP_PKEY_free(key);
    X509_free(read);
    X509_free(certificate);
    BIO_free(bio);
}

TEST(from_der)
{
    warprsa_reference reference;
    uint8_t der[WARPRSA_REFERENCE_DER_MAX];
    const unsigned char *at = der;
    EVP_PKEY *key = NULL;
    size_t length = 0;

    make_reference(pss, &reference);
    length = warprsa_reference_write(&reference, der, sizeof(der));
    key = d2i_AutoPrivateKey_ex(NULL, &at, (long)length, subject, NULL);
    assert_non_null(key);
    assert_is_reference(key, pss);
    EVP_PKEY_free(key);
}

/* What a URI stands for; NULL: nothing, with errors on the queue. */
static EVP_PKEY *key_at(const char *uri)
{
    OSSL_STORE_CTX *store =
        OSSL_STORE_open_ex(uri, subject, NULL, NULL, NULL, NULL, NULL, NULL);
    OSSL_STORE_INFO *info = store == NULL ? NULL : OSSL_STORE_load(store);
    EVP_PKEY *key = info == NULL ? NULL : OSSL_STORE_INFO_get1_PKEY(info);

    assert_true(info == NULL ||
                OSSL_STORE_INFO_get_type(info) == OSSL_STORE_INFO_PKEY);
    OSSL_STORE_INFO_free(info);
    if (key != NULL) {
        assert_null(OSSL_STORE_load(store));
        assert_int_equal(OSSL_STORE_eof(store), 1);
    }
    OSSL_STORE_close(store);
    return key;
}

TEST(from_the_store)
{
    EVP_PKEY *key = NULL;

    vault_key = pss;
    key = key_at("warprsa:www");
    assert_non_null(key);
    assert_string_equal(asked_socket, "/run/warprsa/warprsad.sock");
    assert_is_reference(key, pss);
    EVP_PKEY_free(key);
    vault_key = rsa;
    key = key_at("warprsa:www?socket=/tmp/other.sock");
    assert_non_null(key);
    assert_string_equal(asked_socket, "/tmp/other.sock");
    assert_is_reference(key, rsa);
    away = true;
    assert_false(signs_right(subject, key, rsa));
    away = false;
    assert_true(raised(WARPRSA_R_DAEMON, "at /tmp/other.sock"));
    EVP_PKEY_free(key);
}

TEST(nothing_in_the_store)
{
    static const char *const uris[] = {
        "warprsa:",
        "warprsa:a/b",
        "warprsa:www?socket=relative",
        "warprsa:www?socket",
        "warprsa:www?pin=1",
    };

    assert_null(key_at("warprsa:other"));
    assert_true(raised(WARPRSA_R_DAEMON, "warprsad at /run"));
    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        assert_null(key_at(uris[i]));
        assert_true(raised(WARPRSA_R_REFERENCE, "expected warprsa:NAME"));
    }
}

/* ---- signatures ---- */

typedef struct way_to_sign {
    int padding;
    const char *digest; /* NULL: none */
    const char *mgf1;   /* NULL: the same */
    int salt;
} way_to_sign;

static bool set_way(EVP_PKEY_CTX *ctx, const way_to_sign *way)
{
    return EVP_PKEY_CTX_set_rsa_padding(ctx, way->padding) > 0 &&
           (way->mgf1 == NULL ||
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(ctx, way->mgf1, NULL) > 0) &&
           (way->padding != RSA_PKCS1_PSS_PADDING ||
            EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, way->salt) > 0);
}

/* Signs a hash. Returns the signature's length; 0: it failed. */
static size_t sign_hash(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                        const way_to_sign *way, const unsigned char *hash,
                        size_t hash_length, unsigned char signature[256])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_DIGEST,
                                         (char *)way->digest, 0),
        OSSL_PARAM_construct_end(),
    };
    size_t length = 256;
    bool ok =
        EVP_PKEY_sign_init(ctx) > 0 &&
        (way->digest == NULL || EVP_PKEY_CTX_set_params(ctx, params) > 0) &&
        set_way(ctx, way) &&
        EVP_PKEY_sign(ctx, signature, &length, hash, hash_length) > 0;

    EVP_PKEY_CTX_free(ctx);
    return ok ? length : 0;
}

/* Signs support_message as a whole, or in parts. */
static size_t sign_message(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                           const way_to_sign *way, bool in_parts,
                           unsigned char signature[256])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new(), *copy = NULL;
    EVP_PKEY_CTX *key_ctx = NULL;
    size_t length = 256;
    bool ok = EVP_DigestSignInit_ex(ctx, &key_ctx, way->digest, libctx, NULL,
                                    key, NULL) > 0 &&
              set_way(key_ctx, way);

    if (ok && in_parts) {
        ok = EVP_DigestSignUpdate(ctx, support_message, 5) > 0;
        copy = EVP_MD_CTX_new();
        ok = ok && EVP_MD_CTX_copy_ex(copy, ctx) &&
             EVP_DigestSignUpdate(copy, support_message + 5,
                                  sizeof(support_message) - 5) > 0 &&
             EVP_DigestSignFinal(copy, signature, &length) > 0;
        EVP_MD_CTX_free(copy);
    } else if (ok) {
        ok = EVP_DigestSign(ctx, signature, &length, support_message,
                            sizeof(support_message)) > 0;
    }
    EVP_MD_CTX_free(ctx);
    return ok ? length : 0;
}

static bool verifies(EVP_PKEY *key, const way_to_sign *way,
                     const unsigned char *signature, size_t length)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    bool ok = EVP_DigestVerifyInit_ex(ctx, &key_ctx, way->digest, NULL, NULL,
                                      key, NULL) > 0 &&
              set_way(key_ctx, way) &&
              EVP_DigestVerify(ctx, signature, length, support_message,
                               sizeof(support_message)) > 0;

    EVP_MD_CTX_free(ctx);
    return ok;
}

static void assert_use(int padding, const char *digest)
{
    assert_int_equal(uses, 1);
    assert_int_equal(last.operation, WARPRSA_USE_SIGN);
    assert_int_equal(last.padding,
                     padding == RSA_PKCS1_PADDING       ? WARPRSA_PADDING_PKCS1
                     : padding == RSA_PKCS1_PSS_PADDING ? WARPRSA_PADDING_PSS
                                                        : WARPRSA_PADDING_NONE);
    if (last.padding != WARPRSA_PADDING_NONE)
        assert_true(EVP_MD_is_a(EVP_get_digestbyname(digest),
                                warprsa_use_digest_name(last.digest)));
    uses = 0;
}

/* The reference signs by this way whenever the key does, by one use each. */
static void assert_signs(EVP_PKEY *reference, EVP_PKEY *key,
                         const way_to_sign *way)
{
    unsigned char signature[256], hash[EVP_MAX_MD_SIZE];
    size_t length = sign_message(NULL, key, way, false, signature);
    size_t hash_length = sizeof(hash);

    ERR_clear_error();
    vault_key = key;
    uses = 0;
    if (length == 0) {
        assert_int_equal(
            sign_message(subject, reference, way, false, signature), 0);
        assert_int_equal(uses, 0);
        ERR_clear_error();
        return;
    }
    for (int in_parts = 0; in_parts < 2; in_parts++) {
        length = sign_message(subject, reference, way, in_parts, signature);
        assert_true(verifies(key, way, signature, length));
        assert_use(way->padding, way->digest);
    }
    assert_int_equal(EVP_Q_digest(NULL, way->digest, NULL, support_message,
                                  sizeof(support_message), hash, &hash_length),
                     1);
    length = sign_hash(subject, reference, way, hash, hash_length, signature);
    assert_true(verifies(key, way, signature, length));
    assert_use(way->padding, way->digest);
    assert_int_equal(ERR_peek_error(), 0);
}

static const char *const digests[] = {
    "MD5",        "SHA1",       "RIPEMD160", "SHA224",     "SHA256",
    "SHA2-256",   "SHA384",     "SHA512",    "SHA512-224", "SHA2-512/256",
    "SHA3-224",   "SHA3-256",   "SHA3-384",  "SHA3-512",   "MD5-SHA1",
    "BLAKE2s256", "BLAKE2b512", "SM3",
};

TEST(signs_by_each_digest)
{
    static const int paddings[] = {RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING,
                                   RSA_X931_PADDING};

    for (size_t i = 0; i < sizeof(digests) / sizeof(digests[0]); i++)
        for (size_t j = 0; j < 3; j++)
            assert_signs(rsa_reference, rsa,
                         &(way_to_sign){.padding = paddings[j],
                                        .digest = digests[i],
                                        .salt = RSA_PSS_SALTLEN_DIGEST});
}

TEST(signs_pss_of_each_kind)
{
    static const int salts[] = {RSA_PSS_SALTLEN_DIGEST,
                                RSA_PSS_SALTLEN_AUTO,
                                RSA_PSS_SALTLEN_MAX,
                                0,
                                1,
                                20,
                                500};

    for (size_t i = 0; i < sizeof(salts) / sizeof(salts[0]); i++) {
        way_to_sign way = {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, salts[i]};

        assert_signs(rsa_reference, rsa, &way);
        assert_signs(pss_reference, pss, &way);
        way.mgf1 = "SHA1";
        assert_signs(rsa_reference, rsa, &way);
    }
}

/* Bytes without a digest, and numbers that are padded already. */
TEST(signs_what_it_is_given)
{
    static const int paddings[] = {RSA_PKCS1_PADDING, RSA_NO_PADDING};
    static const size_t lengths[] = {0, 1, 36, 245, 246, 255, 256, 257};
    unsigned char input[257], expected[256], signature[256];

    memset(input, 0x5a, sizeof(input));
    vault_key = rsa;
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
            const way_to_sign way = {.padding = paddings[i]};
            size_t length =
                sign_hash(NULL, rsa, &way, input, lengths[j], expected);
            unsigned long error = ERR_peek_error();

            ERR_clear_error();
            assert_int_equal(sign_hash(subject, rsa_reference, &way, input,
                                       lengths[j], signature),
                             length);
            assert_int_equal(ERR_peek_error(), error);
            ERR_clear_error();
            assert_memory_equal(signature, expected, length);
        }
}

TEST(wrong_hashes_and_rooms)
{
    const way_to_sign way = {RSA_PKCS1_PSS_PADDING, "SHA256", NULL, -1};
    unsigned char hash[32] = {0}, signature[256];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t length = 0;

    uses = 0;
    assert_int_equal(
        sign_hash(subject, rsa_reference, &way, hash, 31, signature), 0);
    EVP_DigestSignInit_ex(ctx, NULL, "SHA256", subject, NULL, rsa_reference,
                          NULL);
    assert_int_equal(EVP_DigestSign(ctx, NULL, &length, hash, 32), 1);
    assert_int_equal(length, 256);
    length = 255;
    assert_int_not_equal(EVP_DigestSign(ctx, signature, &length, hash, 32), 1);
    assert_int_equal(uses, 0);
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
}

TEST(nobody_computes)
{
    unsigned char signature[256];
    const way_to_sign way = {RSA_PKCS1_PADDING, "SHA256", NULL, 0};

    away = true;
    assert_int_equal(sign_message(subject, rsa_reference, &way, 0, signature),
                     0);
    away = false;
    assert_true(
        raised(WARPRSA_R_DAEMON, "warprsad at /run/warprsa/warprsad.sock"));
}

/* ---- decryption ---- */

typedef struct way_to_decrypt {
    int padding;
    const char *digest, *mgf1, *label;
} way_to_decrypt;

static bool set_decryption(EVP_PKEY_CTX *ctx, const way_to_decrypt *way)
{
    char *label = way->label == NULL ? NULL : OPENSSL_strdup(way->label);

    return EVP_PKEY_CTX_set_rsa_padding(ctx, way->padding) > 0 &&
           (way->digest == NULL ||
            EVP_PKEY_CTX_set_rsa_oaep_md_name(ctx, way->digest, NULL) > 0) &&
           (way->mgf1 == NULL ||
            EVP_PKEY_CTX_set_rsa_mgf1_md_name(ctx, way->mgf1, NULL) > 0) &&
           (label == NULL || EVP_PKEY_CTX_set0_rsa_oaep_label(
                                 ctx, label, (int)strlen(label)) > 0);
}

static size_t encrypt(const way_to_decrypt *way, const unsigned char *message,
                      size_t length, unsigned char out[256])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, rsa, NULL);
    size_t size = 256;

    assert_true(EVP_PKEY_encrypt_init(ctx) > 0 && set_decryption(ctx, way) &&
                EVP_PKEY_encrypt(ctx, out, &size, message, length) > 0);
    EVP_PKEY_CTX_free(ctx);
    return size;
}

/* Decrypts. Returns the length, or -1 with errors on the queue. */
static int decrypt(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                   const way_to_decrypt *way, const unsigned char *from,
                   size_t from_length, unsigned char out[256])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, NULL);
    size_t size = 256;
    bool ok = EVP_PKEY_decrypt_init(ctx) > 0 && set_decryption(ctx, way) &&
              EVP_PKEY_decrypt(ctx, out, &size, from, from_length) > 0;

    EVP_PKEY_CTX_free(ctx);
    return ok ? (int)size : -1;
}

static const way_to_decrypt ways_to_decrypt[] = {
    {.padding = RSA_PKCS1_PADDING},
    {.padding = RSA_NO_PADDING},
    {.padding = RSA_PKCS1_OAEP_PADDING},
    {RSA_PKCS1_OAEP_PADDING, "SHA256", NULL, NULL},
    {RSA_PKCS1_OAEP_PADDING, "SHA2-256", "SHA1", "a label"},
    {RSA_PKCS1_OAEP_PADDING, "SHA3-512", NULL, "another"},
    {RSA_PKCS1_OAEP_PADDING, "BLAKE2s256", "SHA512", NULL},
};

/* The same by the reference and by the key, errors included. */
static void assert_decrypts_the_same(const way_to_decrypt *way,
                                     const unsigned char *from, size_t length)
{
    unsigned char expected[256], out[256];
    int wanted = decrypt(NULL, rsa, way, from, length, expected);
    unsigned long error = ERR_peek_last_error();

    ERR_clear_error();
    assert_int_equal(decrypt(subject, rsa_reference, way, from, length, out),
                     wanted);
    assert_int_equal(ERR_peek_last_error(), error);
    ERR_clear_error();
    if (wanted > 0)
        assert_memory_equal(out, expected, (size_t)wanted);
}

TEST(decrypts_by_each_padding)
{
    unsigned char message[256] = "secret", cipher[257] = {0};

    vault_key = rsa;
    for (size_t i = 0; i < sizeof(ways_to_decrypt) / sizeof(ways_to_decrypt[0]);
         i++) {
        const way_to_decrypt *way = &ways_to_decrypt[i];
        size_t length = way->padding == RSA_NO_PADDING ? 256 : 6;

        message[0] = way->padding == RSA_NO_PADDING ? 0 : 's';
        encrypt(way, message, length, cipher);
        uses = 0;
        assert_decrypts_the_same(way, cipher, 256);
        assert_int_equal(uses, 1);
        assert_int_equal(last.padding, way->padding == RSA_PKCS1_PADDING
                                           ? WARPRSA_PADDING_PKCS1
                                       : way->padding == RSA_NO_PADDING
                                           ? WARPRSA_PADDING_NONE
                                           : WARPRSA_PADDING_OAEP);
        encrypt(way, message, way->padding == RSA_NO_PADDING ? 256 : 0, cipher);
        assert_decrypts_the_same(way, cipher, 256);
        cipher[100] ^= 1; /* what comes out has no padding */
        if (way->padding != RSA_PKCS1_PADDING)
            assert_decrypts_the_same(way, cipher, 256);
        assert_decrypts_the_same(way, cipher, 257);
        memset(cipher, 0xff, 256); /* above the modulus */
        assert_decrypts_the_same(way, cipher, 256);
        memset(cipher, 0, 256);
        assert_decrypts_the_same(way, cipher, 255);
    }
}

/* ---- handshakes ---- */

static SSL *side(SSL_CTX *ctx, bool server, BIO *in, BIO *out)
{
    SSL *ssl = SSL_new(ctx);

    assert_int_equal(BIO_up_ref(in) & BIO_up_ref(out), 1);
    SSL_set_bio(ssl, in, out);
    if (server)
        SSL_set_accept_state(ssl);
    else
        SSL_set_connect_state(ssl);
    return ssl;
}

/* A handshake of a server with the reference. */
static void shake_hands(int version, const char *ciphers, EVP_PKEY *reference,
                        EVP_PKEY *key)
{
    SSL_CTX *server_ctx = SSL_CTX_new_ex(subject, NULL, TLS_server_method());
    SSL_CTX *client_ctx = SSL_CTX_new(TLS_client_method());
    BIO *to_server = BIO_new(BIO_s_mem()), *to_client = BIO_new(BIO_s_mem());
    X509 *certificate = certificate_of(key);
    SSL *server = NULL, *client = NULL;
    int done = 0;

    vault_key = key;
    uses = 0;
    SSL_CTX_set_min_proto_version(client_ctx, version);
    SSL_CTX_set_max_proto_version(client_ctx, version);
    SSL_CTX_set_security_level(client_ctx, 0);
    SSL_CTX_set_security_level(server_ctx, 0);
    if (ciphers != NULL) {
        assert_int_equal(SSL_CTX_set_cipher_list(client_ctx, ciphers), 1);
        assert_int_equal(SSL_CTX_set_cipher_list(server_ctx, ciphers), 1);
    }
    assert_int_equal(SSL_CTX_use_certificate(server_ctx, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(server_ctx, reference), 1);
    assert_int_equal(SSL_CTX_check_private_key(server_ctx), 1);
    server = side(server_ctx, true, to_server, to_client);
    client = side(client_ctx, false, to_client, to_server);
    for (int i = 0; i < 10 && done != 3; i++)
        done = (SSL_do_handshake(client) == 1) | (SSL_do_handshake(server) == 1)
                                                     << 1;
    if (done != 3)
        ERR_print_errors_fp(stderr);
    assert_int_equal(done, 3);
    assert_int_equal(uses, 1);
    assert_int_equal(ERR_peek_error(), 0);
    SSL_free(server);
    SSL_free(client);
    BIO_free(to_server);
    BIO_free(to_client);
    X509_free(certificate);
    SSL_CTX_free(server_ctx);
    SSL_CTX_free(client_ctx);
}

TEST(handshakes)
{
    shake_hands(TLS1_3_VERSION, NULL, rsa_reference, rsa);
    assert_int_equal(last.padding, WARPRSA_PADDING_PSS);
    shake_hands(TLS1_3_VERSION, NULL, pss_reference, pss);
    assert_int_equal(last.padding, WARPRSA_PADDING_PSS);
    shake_hands(TLS1_2_VERSION, "ECDHE-RSA-AES128-GCM-SHA256", rsa_reference,
                rsa);
    assert_int_equal(last.operation, WARPRSA_USE_SIGN);
    shake_hands(TLS1_2_VERSION, "AES128-GCM-SHA256", rsa_reference, rsa);
    assert_int_equal(last.operation, WARPRSA_USE_DECRYPT);
    assert_int_equal(last.padding, WARPRSA_PADDING_TLS);
    assert_int_equal(last.tls_client_version, TLS1_2_VERSION);
    shake_hands(TLS1_VERSION, "ECDHE-RSA-AES128-SHA", rsa_reference, rsa);
    assert_int_equal(last.digest, WARPRSA_DIGEST_MD5_SHA1);
}

/* ---- jobs and children ---- */

typedef struct job {
    ASYNC_JOB *job;
    ASYNC_WAIT_CTX *wait_ctx;
    int padding;
    unsigned char signature[256];
    size_t length;
} job;

static int sign_in_job(void *arg)
{
    job *one = *(job **)arg;
    const way_to_sign way = {one->padding, "SHA256", NULL,
                             RSA_PSS_SALTLEN_DIGEST};

    one->length =
        sign_message(subject, rsa_reference, &way, true, one->signature);
    return 1;
}

static int step(job *one)
{
    int ret = 0;

    return ASYNC_start_job(&one->job, one->wait_ctx, &ret, sign_in_job, &one,
                           sizeof(one));
}

/* Signs a number that needs no padding. */
static size_t sign_number(OSSL_LIB_CTX *libctx, EVP_PKEY *key,
                          unsigned char signature[256])
{
    const way_to_sign way = {.padding = RSA_NO_PADDING};
    const unsigned char number[256] = {0, 1, 2, 3};

    return sign_hash(libctx, key, &way, number, sizeof(number), signature);
}

/* Jobs with different paddings pause in turn, and neither they nor what the
 * thread signs in between takes what another one has told about its padding. */
TEST(jobs_pause)
{
    unsigned char expected[256], signature[256];
    job jobs[6];

    memset(jobs, 0, sizeof(jobs));
    vault_key = rsa;
    pauses = true;
    for (int i = 0; i < 6; i++) {
        jobs[i].wait_ctx = ASYNC_WAIT_CTX_new();
        jobs[i].padding = i % 2 ? RSA_PKCS1_PADDING : RSA_PKCS1_PSS_PADDING;
        assert_int_equal(step(&jobs[i]), ASYNC_PAUSE);
        assert_int_equal(sign_number(subject, rsa_reference, signature), 256);
        assert_int_equal(sign_number(NULL, rsa, expected), 256);
        assert_memory_equal(signature, expected, sizeof(expected));
    }
    for (int i = 0; i < 6; i++) {
        const way_to_sign way = {jobs[i].padding, "SHA256", NULL,
                                 RSA_PSS_SALTLEN_DIGEST};

        assert_int_equal(step(&jobs[i]), ASYNC_FINISH);
        assert_true(verifies(rsa, &way, jobs[i].signature, jobs[i].length));
        ASYNC_WAIT_CTX_free(jobs[i].wait_ctx);
    }
    pauses = false;
}

TEST(children_sign)
{
    int status = -1;
    pid_t child = 0;

    vault_key = rsa;
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(!signs_right(subject, rsa_reference, rsa));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int setup_preferred(void **state)
{
    *state = (void *)"?provider=warprsa";
    return setup(state);
}

static int setup_plain(void **state)
{
    *state = NULL;
    return setup(state);
}

int main(void)
{
    return cmocka_run_group_tests_name("warprsa preferred", unit_tests,
                                       setup_preferred, teardown) +
           cmocka_run_group_tests_name("no provider preferred", unit_tests,
                                       setup_plain, teardown);
}
