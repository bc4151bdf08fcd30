/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a program's library context has besides this provider stays what it is:
 * keys of another provider, another generator of random numbers, and queries
 * that demand a provider. And our functions take the null arguments that the
 * default provider's take.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include "tests/unit/support/provider_support.h"

/* ---- a provider with one key, which gives its public numbers alone ---- */

static EVP_PKEY *hidden; /* in the default context */
static unsigned token_signatures;

static void *token_key_new(void *provctx)
{
    return calloc(1, 1);
}

static void token_key_free(void *key)
{
    free(key);
}

static int token_has(const void *key, int selection)
{
    return key != NULL;
}

static int token_import(void *key, int selection, const OSSL_PARAM params[])
{
    return key != NULL;
}

/* Whatever is asked for. */
static int token_export(void *key, int selection, OSSL_CALLBACK *callback,
                        void *arg)
{
    OSSL_PARAM *params = NULL;
    int ok = EVP_PKEY_todata(hidden, EVP_PKEY_PUBLIC_KEY, &params) == 1 &&
             callback(params, arg);

    OSSL_PARAM_free(params);
    return ok;
}

static const OSSL_PARAM *token_types(int selection)
{
    static const OSSL_PARAM types[] = {
        OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_N, NULL, 0),
        OSSL_PARAM_BN(OSSL_PKEY_PARAM_RSA_E, NULL, 0), OSSL_PARAM_END};

    return types;
}

static int token_get_params(void *key, OSSL_PARAM params[])
{
    return EVP_PKEY_get_params(hidden, params);
}

static void *token_newctx(void *provctx, const char *query)
{
    return calloc(1, 1);
}

static void token_freectx(void *ctx)
{
    free(ctx);
}

static int token_sign_init(void *ctx, void *key, const OSSL_PARAM params[])
{
    return key != NULL;
}

static int token_sign(void *ctx, unsigned char *result, size_t *length,
                      size_t size, const unsigned char *from,
                      size_t from_length)
{
    EVP_PKEY_CTX *by = EVP_PKEY_CTX_new_from_pkey(NULL, hidden, NULL);
    int ok;

    *length = size;
    ok = EVP_PKEY_sign_init(by) == 1 &&
         EVP_PKEY_sign(by, result, length, from, from_length) == 1;
    EVP_PKEY_CTX_free(by);
    token_signatures++;
    return ok;
}

#define ENTRY(ID, function)                                                    \
    {                                                                          \
        OSSL_FUNC_##ID, (void (*)(void))(function)                             \
    }
static const OSSL_DISPATCH token_keymgmt[] = {
    ENTRY(KEYMGMT_NEW, token_key_new),
    ENTRY(KEYMGMT_FREE, token_key_free),
    ENTRY(KEYMGMT_HAS, token_has),
    ENTRY(KEYMGMT_IMPORT, token_import),
    ENTRY(KEYMGMT_IMPORT_TYPES, token_types),
    ENTRY(KEYMGMT_EXPORT, token_export),
    ENTRY(KEYMGMT_EXPORT_TYPES, token_types),
    ENTRY(KEYMGMT_GET_PARAMS, token_get_params),
    ENTRY(KEYMGMT_GETTABLE_PARAMS, token_types),
    {0, NULL}};
static const OSSL_DISPATCH token_signature[] = {
    ENTRY(SIGNATURE_NEWCTX, token_newctx),
    ENTRY(SIGNATURE_FREECTX, token_freectx),
    ENTRY(SIGNATURE_SIGN_INIT, token_sign_init),
    ENTRY(SIGNATURE_SIGN, token_sign),
    {0, NULL}};

static const OSSL_ALGORITHM *token_query(void *provctx, int operation,
                                         int *no_cache)
{
    static const OSSL_ALGORITHM keymgmts[] = {
        {"RSA:rsaEncryption", "provider=token", token_keymgmt, NULL},
        {NULL, NULL, NULL, NULL}};
    static const OSSL_ALGORITHM signatures[] = {
        {"RSA:rsaEncryption", "provider=token", token_signature, NULL},
        {NULL, NULL, NULL, NULL}};

    *no_cache = 0;
    return operation == OSSL_OP_KEYMGMT     ? keymgmts
           : operation == OSSL_OP_SIGNATURE ? signatures
                                            : NULL;
}

static int token_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                      const OSSL_DISPATCH **out, void **provctx)
{
    static const OSSL_DISPATCH functions[] = {
        ENTRY(PROVIDER_QUERY_OPERATION, token_query), {0, NULL}};

    *provctx = (void *)handle;
    *out = functions;
    return 1;
}

/* ---- tests ---- */

static int signs_plain(OSSL_LIB_CTX *libctx, EVP_PKEY *key, const char *query)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(libctx, key, query);
    unsigned char result[512];
    size_t length = sizeof(result);
    int ok = EVP_PKEY_sign_init(ctx) == 1 &&
             EVP_PKEY_sign(ctx, result, &length, support_message,
                           sizeof(support_message)) == 1;

    EVP_PKEY_CTX_free(ctx);
    return ok;
}

/* An error's text; empties the queue. */
static const char *last_error(void)
{
    static char text[256];
    const char *data = "";
    int flags = 0;

    ERR_peek_last_error_all(NULL, NULL, NULL, &data, &flags);
    snprintf(text, sizeof(text), "%s", data);
    ERR_clear_error();
    return text;
}

/* Public numbers that are given as a whole key may be those of such a key. So
 * they make none, and the error says what does. */
static void assert_refused(OSSL_LIB_CTX *subject, EVP_PKEY *key)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(subject, "RSA", NULL);
    OSSL_PARAM *params = NULL;
    EVP_PKEY *made = NULL;

    assert_int_equal(EVP_PKEY_todata(key, EVP_PKEY_PUBLIC_KEY, &params), 1);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &made, EVP_PKEY_KEYPAIR, params),
                     0);
    assert_non_null(strstr(last_error(), "EVP_PKEY_PUBLIC_KEY"));
    assert_int_equal(EVP_PKEY_fromdata(ctx, &made, EVP_PKEY_PUBLIC_KEY, params),
                     1);
    assert_int_equal(EVP_PKEY_eq(made, key), 1);
    EVP_PKEY_free(made);
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(ctx);
}

/* A key whose private numbers stay in another provider is used there. No error
 * is left of the attempt to use it here. */
TEST(keys_of_another_provider)
{
    static const char *const queries[] = {
        NULL, "?provider=warprsa", "?provider=token,?warprsa.offload=yes"};
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    OSSL_PROVIDER *token = NULL;
    EVP_PKEY *key = NULL, *half = NULL;

    hidden = key_make(NULL, "RSA", 1024, 2);
    assert_int_equal(OSSL_PROVIDER_add_builtin(subject, "token", token_init),
                     1);
    token = OSSL_PROVIDER_load(subject, "token");
    assert_non_null(token);
    half = key_from_numbers(subject, "provider=warprsa", hidden,
                            EVP_PKEY_PUBLIC_KEY, EVP_PKEY_PUBLIC_KEY);
    for (unsigned i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        key = key_from_numbers(subject, "provider=token", hidden,
                               EVP_PKEY_PUBLIC_KEY, EVP_PKEY_KEYPAIR);
        token_signatures = 0;
        assert_true(signs_plain(subject, key, queries[i]));
        assert_int_equal(token_signatures, 1);
        assert_int_equal(EVP_PKEY_eq(key, half), 1);
        assert_int_equal(EVP_PKEY_eq(half, key), 1);
        assert_int_equal(ERR_peek_error(), 0);
        EVP_PKEY_free(key);
    }
    assert_counted(subject, 0, 0);
    assert_refused(subject, hidden);
    EVP_PKEY_free(half);
    /* A key with all of its numbers is still ours to compute. */
    key = key_from_numbers(subject, "provider=default", hidden,
                           EVP_PKEY_KEYPAIR, EVP_PKEY_KEYPAIR);
    assert_true(signs_plain(subject, key, "?warprsa.offload=yes"));
    assert_counted(subject, 1, 0);
    EVP_PKEY_free(key);
    OSSL_PROVIDER_unload(token);
    OSSL_LIB_CTX_free(subject);
    EVP_PKEY_free(hidden);
}

/* Public numbers alone make a key, as they do by default, where nobody else
 * keeps keys. */
TEST(public_numbers)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *key = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *half = key_from_numbers(subject, NULL, key, EVP_PKEY_PUBLIC_KEY,
                                      EVP_PKEY_KEYPAIR);

    assert_int_equal(EVP_PKEY_eq(half, key), 1);
    EVP_PKEY_free(half);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
}

/* "provider=warprsa", without a question mark: with and without a digest. */
TEST(a_query_that_demands)
{
    static const char query[] = "provider=warprsa";
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *oracle = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *key = key_in(subject, oracle);
    unsigned char result[128], sealed[128], opened[128];
    size_t length = sizeof(result), sealed_length = sizeof(sealed);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *pctx = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(subject, key, query);

    assert_true(signs_plain(subject, key, query));
    assert_counted(subject, 1, 0);
    assert_int_equal(
        EVP_DigestSignInit_ex(md, &pctx, "SHA256", subject, query, key, NULL),
        1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(pctx, RSA_PKCS1_PSS_PADDING),
                     1);
    assert_int_equal(EVP_DigestSign(md, result, &length, support_message,
                                    sizeof(support_message)),
                     1);
    assert_true(is_right(oracle, RSA_PKCS1_PSS_PADDING, result, length));
    assert_counted(subject, 2, 0);
    assert_int_equal(EVP_PKEY_encrypt_init(ctx), 1);
    assert_int_equal(
        EVP_PKEY_encrypt(ctx, sealed, &sealed_length, support_message, 20), 1);
    length = sizeof(opened);
    assert_int_equal(EVP_PKEY_decrypt_init(ctx), 1);
    assert_int_equal(
        EVP_PKEY_decrypt(ctx, opened, &length, sealed, sealed_length), 1);
    assert_int_equal(length, 20);
    assert_counted(subject, 3, 0);
    EVP_PKEY_CTX_free(ctx);
    EVP_MD_CTX_free(md);
    EVP_PKEY_free(key);
    EVP_PKEY_free(oracle);
    OSSL_LIB_CTX_free(subject);
}

/* Salts come from the caller's generator: without it there is no signature,
 * with another one there is, and the engine computes it. */
TEST(another_generator)
{
    static const struct {
        const char *name;
        int ok;
    } rows[] = {{"NO-SUCH-DRBG", 0}, {"HASH-DRBG", 1}};
    EVP_PKEY *oracle = key_make(NULL, "RSA", 1024, 2);
    unsigned char result[128];

    for (unsigned i = 0; i < 2; i++) {
        OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
        EVP_PKEY *key = key_in(subject, oracle);
        size_t length;

        assert_int_equal(RAND_set_DRBG_type(subject, rows[i].name, NULL, NULL,
                                            rows[i].ok ? "SHA256" : NULL),
                         1);
        length = sign_with(subject, key, RSA_PKCS1_PSS_PADDING, result,
                           sizeof(result));
        ERR_clear_error();
        assert_int_equal(length != 0, rows[i].ok);
        assert_counted(subject, (uint64_t)rows[i].ok, 0);
        EVP_PKEY_free(key);
        OSSL_LIB_CTX_free(subject);
    }
    EVP_PKEY_free(oracle);
}

/* ---- null arguments ---- */

static const OSSL_DISPATCH *table_of(OSSL_PROVIDER *provider, int operation)
{
    int no_cache = 0;
    const OSSL_ALGORITHM *at =
        OSSL_PROVIDER_query_operation(provider, operation, &no_cache);

    while (strncmp(at->algorithm_names, "RSA:", 4) != 0)
        at++;
    return at->implementation;
}

static void (*find(const OSSL_DISPATCH *table, int id))(void)
{
    for (; table->function_id != 0; table++)
        if (table->function_id == id)
            return table->function;
    return NULL;
}

enum {
    RESULTS_MAX = 64,
};

typedef struct results {
    int value[RESULTS_MAX];
    unsigned count;
} results;

static void note(results *all, int value)
{
    assert_true(all->count < RESULTS_MAX);
    all->value[all->count++] = value;
}

/* Functions of a table by their usual type. */
#define KEYMGMT(ID, name)                                                      \
    ((OSSL_FUNC_keymgmt_##name##_fn *)find(table, OSSL_FUNC_KEYMGMT_##ID))
#define SIGNATURE(ID, name)                                                    \
    ((OSSL_FUNC_signature_##name##_fn *)find(table, OSSL_FUNC_SIGNATURE_##ID))
#define CIPHER(ID, name)                                                       \
    ((OSSL_FUNC_asym_cipher_##name##_fn *)find(table,                          \
                                               OSSL_FUNC_ASYM_CIPHER_##ID))

static int count_call(const OSSL_PARAM params[], void *arg)
{
    ++*(int *)arg;
    return params != NULL;
}

/* No key, and one without numbers. */
static void odd_keys(OSSL_PROVIDER *provider, results *all)
{
    static const int selections[] = {
        0, OSSL_KEYMGMT_SELECT_PRIVATE_KEY, OSSL_KEYMGMT_SELECT_PUBLIC_KEY,
        OSSL_KEYMGMT_SELECT_ALL_PARAMETERS, OSSL_KEYMGMT_SELECT_ALL};
    const OSSL_DISPATCH *table = table_of(provider, OSSL_OP_KEYMGMT);
    void *provctx = OSSL_PROVIDER_get0_provider_ctx(provider);
    const OSSL_PARAM none[] = {OSSL_PARAM_END};
    void *empty = KEYMGMT(NEW, new)(provctx);
    void *copy = NULL;

    assert_non_null(empty);
    for (unsigned i = 0; i < sizeof(selections) / sizeof(int); i++) {
        const int selection = selections[i];
        int calls = 0;

        note(all, KEYMGMT(HAS, has)(NULL, selection));
        note(all, KEYMGMT(HAS, has)(empty, selection));
        note(all, KEYMGMT(IMPORT, import)(NULL, selection, none));
        note(all, KEYMGMT(IMPORT, import)(empty, selection, NULL));
        note(all, KEYMGMT(IMPORT, import)(empty, selection, none));
        note(all, KEYMGMT(EXPORT, export)(NULL, selection, count_call, &calls));
        note(all, calls);
        note(all, KEYMGMT(MATCH, match)(empty, empty, selection));
    }
    copy = KEYMGMT(DUP, dup)(empty, OSSL_KEYMGMT_SELECT_ALL_PARAMETERS);
    note(all, copy != NULL);
    KEYMGMT(FREE, free)(copy);
    note(all, KEYMGMT(GET_PARAMS, get_params)(empty, (OSSL_PARAM *)none));
    note(all, KEYMGMT(GEN, gen)(NULL, NULL, NULL) != NULL);
    KEYMGMT(GEN_CLEANUP, gen_cleanup)(NULL);
    KEYMGMT(FREE, free)(empty);
    KEYMGMT(FREE, free)(NULL);
}

/* No context, and one that has not begun. */
static void odd_signatures(OSSL_PROVIDER *provider, results *all)
{
    const OSSL_DISPATCH *table = table_of(provider, OSSL_OP_SIGNATURE);
    void *contexts[] = {NULL,
                        SIGNATURE(NEWCTX, newctx)(
                            OSSL_PROVIDER_get0_provider_ctx(provider), NULL)};
    size_t length = 0;

    for (unsigned i = 0; i < 2; i++) {
        void *ctx = contexts[i];

        note(all, SIGNATURE(SIGN_INIT, sign_init)(ctx, NULL, NULL));
        note(all, SIGNATURE(VERIFY_INIT, verify_init)(ctx, NULL, NULL));
        note(all,
             SIGNATURE(DIGEST_SIGN_UPDATE, digest_sign_update)(ctx, NULL, 0));
        note(all, SIGNATURE(DIGEST_SIGN_FINAL, digest_sign_final)(ctx, NULL,
                                                                  &length, 0));
        note(all, SIGNATURE(DIGEST_VERIFY_UPDATE,
                            digest_verify_update)(ctx, NULL, 0));
        note(all,
             SIGNATURE(DIGEST_VERIFY_FINAL, digest_verify_final)(ctx, NULL, 0));
        note(all, SIGNATURE(GET_CTX_PARAMS, get_ctx_params)(ctx, NULL));
        note(all, SIGNATURE(SET_CTX_PARAMS, set_ctx_params)(ctx, NULL));
    }
    SIGNATURE(FREECTX, freectx)(contexts[1]);
    SIGNATURE(FREECTX, freectx)(NULL);
}

static void odd_ciphers(OSSL_PROVIDER *provider, results *all)
{
    const OSSL_DISPATCH *table = table_of(provider, OSSL_OP_ASYM_CIPHER);
    void *contexts[] = {NULL, CIPHER(NEWCTX, newctx)(
                                  OSSL_PROVIDER_get0_provider_ctx(provider))};

    for (unsigned i = 0; i < 2; i++) {
        void *ctx = contexts[i];

        note(all, CIPHER(ENCRYPT_INIT, encrypt_init)(ctx, NULL, NULL));
        note(all, CIPHER(DECRYPT_INIT, decrypt_init)(ctx, NULL, NULL));
        note(all, CIPHER(GET_CTX_PARAMS, get_ctx_params)(ctx, NULL));
        note(all, CIPHER(SET_CTX_PARAMS, set_ctx_params)(ctx, NULL));
    }
    CIPHER(FREECTX, freectx)(contexts[1]);
}

TEST(null_arguments)
{
    static void (*const groups[])(OSSL_PROVIDER *, results *) = {
        odd_keys, odd_signatures, odd_ciphers};
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    OSSL_PROVIDER *ours = OSSL_PROVIDER_load(subject, "warprsa");
    OSSL_PROVIDER *theirs = OSSL_PROVIDER_load(subject, "default");

    for (unsigned i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        results expected = {{0}, 0}, got = {{0}, 0};

        groups[i](theirs, &expected);
        groups[i](ours, &got);
        assert_int_equal(got.count, expected.count);
        for (unsigned j = 0; j < got.count; j++)
            if (got.value[j] != expected.value[j])
                fail_msg("group %u, call %u: %d, not %d", i, j, got.value[j],
                         expected.value[j]);
        ERR_clear_error();
    }
    OSSL_PROVIDER_unload(theirs);
    OSSL_PROVIDER_unload(ours);
    OSSL_LIB_CTX_free(subject);
}

/* The same by EVP: a generated key, whose parameters are copied to no key. */
TEST(copied_parameters)
{
    OSSL_LIB_CTX *subject = subject_open(HOST_ENGINE);
    EVP_PKEY *key = key_make(subject, "RSA", 1024, 2);
    EVP_PKEY *oracle = key_make(NULL, "RSA", 1024, 2);
    EVP_PKEY *empty = EVP_PKEY_new(), *other = EVP_PKEY_new();

    assert_int_equal(EVP_PKEY_copy_parameters(empty, key),
                     EVP_PKEY_copy_parameters(other, oracle));
    assert_int_equal(EVP_PKEY_missing_parameters(key),
                     EVP_PKEY_missing_parameters(oracle));
    EVP_PKEY_free(other);
    EVP_PKEY_free(empty);
    EVP_PKEY_free(oracle);
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(subject);
}

RUN_TESTS(NULL, NULL)
