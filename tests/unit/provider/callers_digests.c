/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations with a digest that only the program's library context has: they go
 * on there as they were begun here, and fail where the default provider's fail.
 */
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/prov_ssl.h>
#include <openssl/rsa.h>

#include "tests/unit/support/provider_subject.h"

/* ---- two library contexts with the legacy provider ---- */

enum {
    OURS,
    THEIRS, /* the default provider's */
};

static OSSL_LIB_CTX *contexts[2];
static EVP_PKEY *keys[2];
static OSSL_PROVIDER *loaded[3];

static int setup(void **state)
{
    if (host_subject_setup(state) != 0)
        return -1;
    contexts[OURS] = subject;
    keys[OURS] = subject_key;
    contexts[THEIRS] = OSSL_LIB_CTX_new();
    keys[THEIRS] = oracle_key;
    loaded[0] = OSSL_PROVIDER_load(contexts[THEIRS], "default");
    loaded[1] = OSSL_PROVIDER_load(contexts[THEIRS], "legacy");
    loaded[2] = OSSL_PROVIDER_load(subject, "legacy");
    ERR_clear_error();
    return 0;
}

static int teardown(void **state)
{
    for (unsigned i = 0; i < 3; i++)
        if (loaded[i] != NULL)
            OSSL_PROVIDER_unload(loaded[i]);
    OSSL_LIB_CTX_free(contexts[THEIRS]);
    return host_subject_teardown(state);
}

static bool have_legacy(void)
{
    if (loaded[1] != NULL && loaded[2] != NULL)
        return true;
    print_message("no legacy provider here\n");
    return false;
}

/* ---- settings, one call each ---- */

typedef struct step {
    const char *name; /* NULL: no more */
    const char *text; /* NULL: the number */
    int number;
    const char *query_name; /* NULL: no query */
    const char *query;
} step;

enum {
    STEPS_MAX = 7,
    NO_IMPLICIT_REJECTION_PADDING = 8, /* has a name since OpenSSL 3.2 */
};

#define IMPLICIT_REJECTION "implicit-rejection" /* unknown before 3.2 */

#define DIGEST(text)                                                           \
    {                                                                          \
        OSSL_PKEY_PARAM_DIGEST, text, 0, NULL, NULL                            \
    }
#define MGF1(text)                                                             \
    {                                                                          \
        OSSL_PKEY_PARAM_MGF1_DIGEST, text, 0, NULL, NULL                       \
    }
#define LABEL(text)                                                            \
    {                                                                          \
        OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL, text, 0, NULL, NULL                 \
    }
#define PADDING(number)                                                        \
    {                                                                          \
        OSSL_PKEY_PARAM_PAD_MODE, NULL, number, NULL, NULL                     \
    }
#define NUMBER(name, value)                                                    \
    {                                                                          \
        name, NULL, value, NULL, NULL                                          \
    }

static int take(EVP_PKEY_CTX *ctx, const step *one)
{
    int number = one->number;
    OSSL_PARAM params[3];

    if (one->text == NULL)
        params[0] = OSSL_PARAM_construct_int(one->name, &number);
    else if (strcmp(one->name, OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL) == 0)
        params[0] = OSSL_PARAM_construct_octet_string(
            one->name, (char *)one->text, strlen(one->text));
    else
        params[0] =
            OSSL_PARAM_construct_utf8_string(one->name, (char *)one->text, 0);
    params[1] = params[2] = OSSL_PARAM_construct_end();
    if (one->query_name != NULL)
        params[1] = OSSL_PARAM_construct_utf8_string(one->query_name,
                                                     (char *)one->query, 0);
    return EVP_PKEY_CTX_set_params(ctx, params);
}

/* What a context tells of itself. */
typedef struct told {
    int padding, salt_bytes;
    unsigned client_version, negotiated_version;
    unsigned implicit_rejection;
    char digest[64], mgf1[64];
    unsigned char label[64];
} told;

static told ask(EVP_PKEY_CTX *ctx)
{
    told all = {.salt_bytes = 0};
    void *label = NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_ptr(OSSL_ASYM_CIPHER_PARAM_OAEP_LABEL,
                                       &label, 0),
        OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &all.padding),
        OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_PSS_SALTLEN,
                                 &all.salt_bytes),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION,
                                  &all.client_version),
        OSSL_PARAM_construct_uint(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION,
                                  &all.negotiated_version),
        OSSL_PARAM_construct_uint(IMPLICIT_REJECTION, &all.implicit_rejection),
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_DIGEST, all.digest,
                                         sizeof(all.digest)),
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_MGF1_DIGEST, all.mgf1,
                                         sizeof(all.mgf1)),
        OSSL_PARAM_construct_end(),
    };

    assert_int_equal(EVP_PKEY_CTX_get_params(ctx, params), 1);
    if (label != NULL)
        memcpy(all.label, label, params[0].return_size);
    return all;
}

typedef int init_function(EVP_PKEY_CTX *ctx);

/* Takes the steps in both contexts, in a copy from step `copy_at` on, and
 * asserts that each has the same result and that the same is told then. */
static void assert_alike(init_function *init, const step steps[STEPS_MAX],
                         unsigned copy_at)
{
    int results[2][STEPS_MAX] = {{0}};
    told all[2];

    for (unsigned i = 0; i < 2; i++) {
        EVP_PKEY_CTX *ctx =
            EVP_PKEY_CTX_new_from_pkey(contexts[i], keys[i], NULL);

        assert_int_equal(init(ctx), 1);
        for (unsigned j = 0; j < STEPS_MAX && steps[j].name != NULL; j++) {
            if (j == copy_at) {
                EVP_PKEY_CTX *copy = EVP_PKEY_CTX_dup(ctx);

                assert_non_null(copy);
                EVP_PKEY_CTX_free(ctx);
                ctx = copy;
            }
            results[i][j] = take(ctx, &steps[j]);
        }
        all[i] = ask(ctx);
        EVP_PKEY_CTX_free(ctx);
        ERR_clear_error();
    }
    assert_memory_equal(results[OURS], results[THEIRS], sizeof(results[0]));
    assert_string_equal(all[OURS].digest, all[THEIRS].digest);
    assert_string_equal(all[OURS].mgf1, all[THEIRS].mgf1);
    assert_memory_equal(&all[OURS], &all[THEIRS], sizeof(all[0]));
}

/* A digest of MGF1 that has been set stays, also if it is the signature's, and
 * also while the padding is another one; and so does a salt's length. */
TEST(settings_of_signatures)
{
    static const step rows[][STEPS_MAX] = {
        {PADDING(RSA_PKCS1_PSS_PADDING), DIGEST("MD4")},
        {DIGEST("SHA256"), PADDING(RSA_PKCS1_PSS_PADDING), DIGEST("MD4")},
        {DIGEST("SHA256"), PADDING(RSA_PKCS1_PSS_PADDING), MGF1("SHA256"),
         DIGEST("MD4")},
        {DIGEST("SHA256"), PADDING(RSA_PKCS1_PSS_PADDING), MGF1("SHA1"),
         PADDING(RSA_PKCS1_PADDING), DIGEST("MD4"),
         PADDING(RSA_PKCS1_PSS_PADDING)},
        {PADDING(RSA_PKCS1_PSS_PADDING),
         NUMBER(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, 7), MGF1("MD4"),
         DIGEST("SHA256")},
        {PADDING(RSA_PKCS1_PSS_PADDING),
         NUMBER(OSSL_SIGNATURE_PARAM_PSS_SALTLEN, 7),
         PADDING(RSA_PKCS1_PADDING), DIGEST("MD4"),
         PADDING(RSA_PKCS1_PSS_PADDING)},
        {DIGEST("SHA256"), PADDING(RSA_X931_PADDING), DIGEST("SHA512")},
        {PADDING(RSA_NO_PADDING), DIGEST("MD4")},
        {MGF1("MD4")},
    };

    if (!have_legacy())
        return;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_alike(EVP_PKEY_sign_init, rows[i], STEPS_MAX);
        assert_alike(EVP_PKEY_verify_init, rows[i], STEPS_MAX);
        assert_alike(EVP_PKEY_verify_recover_init, rows[i], STEPS_MAX);
        for (unsigned j = 1; j < STEPS_MAX; j++)
            assert_alike(EVP_PKEY_sign_init, rows[i], j);
    }
}

/* Paddings that have a number and no name, the label whatever the padding is,
 * and the versions of TLS. */
TEST(settings_of_ciphers)
{
    static const step rows[][STEPS_MAX] = {
        {LABEL("label"), DIGEST("MD4"), PADDING(RSA_PKCS1_OAEP_PADDING)},
        {PADDING(RSA_PKCS1_OAEP_PADDING), LABEL("label"), DIGEST("MD4")},
        {PADDING(RSA_PKCS1_OAEP_PADDING), LABEL("label"), LABEL("other"),
         MGF1("MD4")},
        {PADDING(RSA_PKCS1_OAEP_PADDING), MGF1("MD4")},
        {DIGEST("SHA256"), MGF1("SHA256"), DIGEST("MD4")},
        {DIGEST("SHA256"), DIGEST("MD4")},
        {MGF1("SHA256"), PADDING(RSA_PKCS1_OAEP_PADDING), DIGEST("MD4")},
        {PADDING(RSA_PKCS1_WITH_TLS_PADDING),
         NUMBER(OSSL_ASYM_CIPHER_PARAM_TLS_CLIENT_VERSION, TLS1_2_VERSION),
         NUMBER(OSSL_ASYM_CIPHER_PARAM_TLS_NEGOTIATED_VERSION, TLS1_VERSION),
         DIGEST("MD4")},
        {NUMBER(IMPLICIT_REJECTION, 0), DIGEST("MD4")},
        {DIGEST("MD4"), NUMBER(IMPLICIT_REJECTION, 0)},
        {PADDING(NO_IMPLICIT_REJECTION_PADDING), DIGEST("MD4")},
        {PADDING(RSA_NO_PADDING), DIGEST("MD4")},
        {PADDING(0), DIGEST("MD4")},
        {DIGEST("MD4"), PADDING(RSA_PKCS1_PSS_PADDING)},
    };

    if (!have_legacy())
        return;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_alike(EVP_PKEY_encrypt_init, rows[i], STEPS_MAX);
        for (unsigned j = 1; j <= STEPS_MAX; j++)
            assert_alike(EVP_PKEY_decrypt_init, rows[i], j);
    }
}

/* Takes steps by the default properties "provider!=default", so that a digest
 * of the default provider is found by a query of its own only. */
static void assert_all_taken(init_function *init, const step steps[STEPS_MAX])
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(subject, subject_key, NULL);

    assert_int_equal(init(ctx), 1);
    for (unsigned i = 0; i < STEPS_MAX && steps[i].name != NULL; i++)
        assert_int_equal(take(ctx, &steps[i]), 1);
    EVP_PKEY_CTX_free(ctx);
}

TEST(queries_for_digests)
{
    static const char query[] = "provider=default";
    static const step signatures[][STEPS_MAX] = {
        {{OSSL_PKEY_PARAM_DIGEST, "SHA256", 0, OSSL_SIGNATURE_PARAM_PROPERTIES,
          query},
         PADDING(RSA_PKCS1_PSS_PADDING),
         MGF1("MD4")},
        {{OSSL_PKEY_PARAM_DIGEST, "SHA256", 0, OSSL_SIGNATURE_PARAM_PROPERTIES,
          query},
         PADDING(RSA_PKCS1_PSS_PADDING),
         {OSSL_PKEY_PARAM_MGF1_DIGEST, "SHA256", 0,
          OSSL_PKEY_PARAM_MGF1_PROPERTIES, query},
         DIGEST("MD4")},
    };
    static const step ciphers[][STEPS_MAX] = {
        {{OSSL_PKEY_PARAM_DIGEST, "SHA256", 0,
          OSSL_ASYM_CIPHER_PARAM_OAEP_DIGEST_PROPS, query},
         MGF1("MD4")},
        {{OSSL_PKEY_PARAM_MGF1_DIGEST, "SHA256", 0,
          OSSL_PKEY_PARAM_MGF1_PROPERTIES, query},
         DIGEST("MD4")},
    };

    if (!have_legacy())
        return;
    assert_int_equal(EVP_set_default_properties(subject, "provider!=default"),
                     1);
    for (unsigned i = 0; i < 2; i++) {
        assert_all_taken(EVP_PKEY_sign_init, signatures[i]);
        assert_all_taken(EVP_PKEY_decrypt_init, ciphers[i]);
    }
    assert_int_equal(EVP_set_default_properties(subject, "?provider=warprsa"),
                     1);
}

/* What came of a signature that was begun again without a key. */
typedef struct again {
    int begun, set, signed_;
    unsigned char signature[128];
} again;

/* How it is begun, and begun again. */
typedef struct twice {
    const char *first, *second;
    bool sized; /* the signature's length is asked for in between */
    int padding;
    const char *mgf1; /* set when it has begun; NULL: none */
    const char *second_mgf1;
} twice;

static again begin_twice(const twice *row, unsigned of)
{
    int padding = row->padding;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_int(OSSL_PKEY_PARAM_PAD_MODE, &padding),
        OSSL_PARAM_construct_end(), OSSL_PARAM_construct_end()};
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *by = NULL;
    size_t length = sizeof(((again *)NULL)->signature);
    again all = {0};

    if (row->mgf1 != NULL)
        params[1] = OSSL_PARAM_construct_utf8_string(
            OSSL_PKEY_PARAM_MGF1_DIGEST, (char *)row->mgf1, 0);
    assert_int_equal(EVP_DigestSignInit_ex(ctx, &by, row->first, contexts[of],
                                           NULL, keys[of], NULL),
                     1);
    all.set = EVP_PKEY_CTX_set_params(by, params);
    if (row->sized)
        assert_int_equal(EVP_DigestSignFinal(ctx, NULL, &length), 1);
    if (row->second_mgf1 != NULL)
        params[1] = OSSL_PARAM_construct_utf8_string(
            OSSL_PKEY_PARAM_MGF1_DIGEST, (char *)row->second_mgf1, 0);
    all.begun = EVP_DigestSignInit_ex(ctx, NULL, row->second, contexts[of],
                                      NULL, NULL, params);
    all.signed_ = EVP_DigestSign(ctx, all.signature, &length, support_message,
                                 sizeof(support_message));
    EVP_MD_CTX_free(ctx);
    ERR_clear_error();
    return all;
}

/* A signature that has begun keeps its digest, as it does in the default
 * provider. */
TEST(begun_again)
{
    static const twice rows[] = {
        {"SHA256", "SHA512", false, RSA_PKCS1_PADDING, NULL, NULL},
        {"SHA256", "SHA256", false, RSA_PKCS1_PADDING, NULL, NULL},
        {"SHA256", "MD4", false, RSA_PKCS1_PADDING, NULL, NULL},
        {"SHA256", "MD4", true, RSA_PKCS1_PADDING, NULL, NULL},
        {"MD4", "SHA256", false, RSA_PKCS1_PADDING, NULL, NULL},
        {"MD4", "MD4", false, RSA_PKCS1_PADDING, NULL, NULL},
        {"SHA256", "SHA256", false, RSA_PKCS1_PSS_PADDING, "SHA1", "MD4"},
        {"SHA256", "SHA512", false, RSA_PKCS1_PSS_PADDING, "SHA1", "MD4"},
        {"SHA256", "SHA256", false, RSA_PKCS1_PSS_PADDING, "MD4", "SHA1"},
    };

    if (!have_legacy())
        return;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const again ours = begin_twice(&rows[i], OURS),
                    theirs = begin_twice(&rows[i], THEIRS);

        assert_int_equal(ours.set, theirs.set);
        assert_int_equal(ours.begun, theirs.begun);
        assert_int_equal(ours.signed_, theirs.signed_);
        if (rows[i].padding == RSA_PKCS1_PADDING)
            assert_memory_equal(ours.signature, theirs.signature,
                                sizeof(ours.signature));
    }
}

RUN_TESTS(setup, teardown)
