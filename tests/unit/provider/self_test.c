/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A libcrypto whose operations don't call our RSA_METHOD, simulated by
 * replacing one of its functions: the known-answer test must fail.
 */
#include <dlfcn.h>
#include <string.h>

#include <openssl/err.h>

#include "tests/unit/support/provider_support.h"

static enum {
    NOTHING,
    SETTING_METHODS,
    SETTING_HOOKS,
} out_of_force;

/* The linker finds these two before libcrypto's. */
int RSA_set_method(RSA *rsa, const RSA_METHOD *method)
{
    int (*real)(RSA *, const RSA_METHOD *) =
        (int (*)(RSA *, const RSA_METHOD *))dlsym(RTLD_NEXT, "RSA_set_method");

    return out_of_force == SETTING_METHODS ? 1 : real(rsa, method);
}

typedef int mod_exp_fn(BIGNUM *, const BIGNUM *, RSA *, BN_CTX *);

int RSA_meth_set_mod_exp(RSA_METHOD *method, mod_exp_fn *function)
{
    int (*real)(RSA_METHOD *, mod_exp_fn *) =
        (int (*)(RSA_METHOD *, mod_exp_fn *))dlsym(RTLD_NEXT,
                                                   "RSA_meth_set_mod_exp");

    return out_of_force == SETTING_HOOKS ? 1 : real(method, function);
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
    OSSL_LIB_CTX *libctx = context_with("");
    EVP_PKEY *key = NULL;

    ERR_clear_error();
    assert_null(module_load(libctx));
    assert_true(refused_with(wanted));
    key = key_make(libctx, "RSA", 1024, 2);
    assert_true(signs_right(libctx, key, key));
    EVP_PKEY_free(key);
    OSSL_LIB_CTX_free(libctx);
}

static void method_not_set(void **state)
{
    (void)state;
    out_of_force = SETTING_METHODS;
    assert_refused("known-answer test: the signature is wrong or could not be");
}

static void hook_not_reached(void **state)
{
    (void)state;
    out_of_force = SETTING_HOOKS;
    assert_refused("known-answer test: the private operation of a key");
}

static void hook_reached(void **state)
{
    OSSL_LIB_CTX *subject = NULL;

    (void)state;
    out_of_force = NOTHING;
    subject = subject_open("");
    assert_counted(subject, 0, 0); /* the known-answer test isn't counted */
    OSSL_LIB_CTX_free(subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(method_not_set),
        cmocka_unit_test(hook_not_reached),
        cmocka_unit_test(hook_reached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
