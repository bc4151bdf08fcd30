/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A libcrypto whose operations don't call our RSA_METHOD, simulated by
 * replacing one of its functions: the known-answer test must fail. The provider
 * is linked into this program, by --wrap for these functions: a libcrypto of
 * which a program replaces a part is refused before (another_libcrypto.c).
 */
#include <string.h>

#include <openssl/core.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "tests/unit/support/provider_support.h"

OSSL_provider_init_fn OSSL_provider_init;

static enum {
    NOTHING,
    SETTING_METHODS,
    SETTING_HOOKS,
} out_of_force;

int __real_RSA_set_method(RSA *rsa, const RSA_METHOD *method);
int __wrap_RSA_set_method(RSA *rsa, const RSA_METHOD *method);
int __wrap_RSA_set_method(RSA *rsa, const RSA_METHOD *method)
{
    return out_of_force == SETTING_METHODS ? 1
                                           : __real_RSA_set_method(rsa, method);
}

typedef int mod_exp_fn(BIGNUM *, const BIGNUM *, RSA *, BN_CTX *);
int __real_RSA_meth_set_mod_exp(RSA_METHOD *method, mod_exp_fn *function);
int __wrap_RSA_meth_set_mod_exp(RSA_METHOD *method, mod_exp_fn *function);
int __wrap_RSA_meth_set_mod_exp(RSA_METHOD *method, mod_exp_fn *function)
{
    return out_of_force == SETTING_HOOKS
               ? 1
               : __real_RSA_meth_set_mod_exp(method, function);
}

static OSSL_PROVIDER *default_provider;

/* A context that knows the provider of this program. */
static OSSL_LIB_CTX *with_builtin(void)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();

    assert_non_null(libctx);
    default_provider = OSSL_PROVIDER_load(libctx, "default");
    assert_non_null(default_provider);
    assert_int_equal(
        OSSL_PROVIDER_add_builtin(libctx, "warprsa", OSSL_provider_init), 1);
    return libctx;
}

static void free_context(OSSL_LIB_CTX *libctx)
{
    assert_int_equal(OSSL_PROVIDER_unload(default_provider), 1);
    OSSL_LIB_CTX_free(libctx);
}

static int refused_with(const char *wanted)
{
    const char *data = NULL;
    int flags = 0, found = 0;

    while (ERR_get_error_all(NULL, NULL, NULL, &data, &flags) != 0)
        if ((flags & ERR_TXT_STRING) && strstr(data, wanted) != NULL)
            found = 1;
    return found;
}

static void assert_refused(const char *wanted)
{
    OSSL_LIB_CTX *libctx = with_builtin();
    EVP_PKEY *key = NULL;

    ERR_clear_error();
    assert_null(OSSL_PROVIDER_load(libctx, "warprsa"));
    assert_true(refused_with(wanted));
    key = key_make(libctx, "RSA", 1024, 2);
    assert_true(signs_right(libctx, key, key));
    EVP_PKEY_free(key);
    free_context(libctx);
}

TEST(method_not_set)
{
    out_of_force = SETTING_METHODS;
    assert_refused("known-answer test: the signature is wrong or could not be");
}

TEST(hook_not_reached)
{
    out_of_force = SETTING_HOOKS;
    assert_refused("known-answer test: the private operation of a key");
}

TEST(hook_reached)
{
    OSSL_LIB_CTX *subject = with_builtin();
    OSSL_PROVIDER *provider = NULL;
    EVP_PKEY *key = NULL;

    out_of_force = NOTHING;
    provider = OSSL_PROVIDER_load(subject, "warprsa");
    assert_non_null(provider);
    assert_counted(subject, 0, 0); /* the known-answer test isn't counted */
    assert_int_equal(EVP_set_default_properties(subject, "?provider=warprsa"),
                     1);
    key = key_make(subject, "RSA", 1024, 2);
    assert_true(signs_right(subject, key, key));
    assert_counted(subject, 0, 1);
    EVP_PKEY_free(key);
    assert_int_equal(OSSL_PROVIDER_unload(provider), 1);
    free_context(subject);
}

RUN_TESTS(NULL, NULL)
