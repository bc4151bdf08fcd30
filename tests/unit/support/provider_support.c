/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Contexts with the module, keys, signatures and counters.
 */
#include "tests/unit/support/provider_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/provider.h>

#include "tests/configuration.h"

volatile int leaks_are_intended;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return leaks_are_intended;
}

const unsigned char support_message[23] = "a message to be signed";

void write_configuration(const char *path, const char *settings)
{
    char module[512];
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_non_null(getenv("BUILD_DIR"));
    snprintf(module, sizeof(module), "%s/provider/warprsa.so",
             getenv("BUILD_DIR"));
    configuration_begin(file, module);
    fprintf(file, "%s", settings);
    assert_int_equal(ferror(file), 0);
    assert_int_equal(fclose(file), 0);
}

void load_settings(OSSL_LIB_CTX *libctx, const char *settings)
{
    char path[] = "/tmp/warprsa-provider.XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0 && close(fd) == 0);
    write_configuration(path, settings);
    OSSL_LIB_CTX_load_config(libctx, path);
    unlink(path);
}

OSSL_LIB_CTX *context_with(const char *settings)
{
    OSSL_LIB_CTX *subject = OSSL_LIB_CTX_new();

    assert_non_null(subject);
    load_settings(subject, settings);
    return subject;
}

OSSL_PROVIDER *module_load(OSSL_LIB_CTX *libctx)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/provider", getenv("BUILD_DIR"));
    assert_int_equal(OSSL_PROVIDER_set_default_search_path(libctx, path), 1);
    return OSSL_PROVIDER_load(libctx, "warprsa");
}

OSSL_LIB_CTX *subject_open(const char *settings)
{
    char lines[1024];
    OSSL_LIB_CTX *subject = NULL;

    snprintf(lines, sizeof(lines), "activate = 1\n%s", settings);
    subject = context_with(lines);
    if (!OSSL_PROVIDER_available(subject, "warprsa"))
        ERR_print_errors_fp(stderr);
    assert_true(OSSL_PROVIDER_available(subject, "warprsa"));
    return subject;
}

uint64_t plain_counter_of(OSSL_LIB_CTX *subject, const char *name)
{
    OSSL_PROVIDER *provider = OSSL_PROVIDER_load(subject, "warprsa");
    uint64_t value = UINT64_MAX;
    OSSL_PARAM request[] = {OSSL_PARAM_construct_uint64(name, &value),
                            OSSL_PARAM_construct_end()};

    if (provider == NULL)
        return UINT64_MAX;
    if (!OSSL_PROVIDER_get_params(provider, request))
        value = UINT64_MAX;
    OSSL_PROVIDER_unload(provider);
    return value;
}

uint64_t counter_of(OSSL_LIB_CTX *subject, const char *name)
{
    uint64_t value = plain_counter_of(subject, name);

    assert_true(value != UINT64_MAX);
    return value;
}

void assert_counted(OSSL_LIB_CTX *subject, uint64_t gpu, uint64_t cpu)
{
    static const char *const reasons[] = {
        "warprsa-cpu-route",          "warprsa-cpu-unsupported-key",
        "warprsa-cpu-starting",       "warprsa-cpu-no-device",
        "warprsa-cpu-deadline",       "warprsa-cpu-queue-full",
        "warprsa-cpu-check-failed",   "warprsa-cpu-error",
        "warprsa-cpu-key-cache-full", "warprsa-cpu-overflow",
        "warprsa-cpu-key-rate",       "warprsa-cpu-no-threads",
        "warprsa-cpu-wrong-key",
    };
    uint64_t sum = 0;

    assert_int_equal(counter_of(subject, "warprsa-gpu"), gpu);
    assert_int_equal(counter_of(subject, "warprsa-cpu"), cpu);
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        sum += counter_of(subject, reasons[i]);
    assert_int_equal(sum, cpu);
}

EVP_PKEY *key_in(OSSL_LIB_CTX *libctx, EVP_PKEY *key)
{
    BIO *bio = BIO_new(BIO_s_mem());
    EVP_PKEY *copy = NULL;

    assert_int_equal(
        PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL), 1);
    copy = PEM_read_bio_PrivateKey_ex(bio, NULL, NULL, NULL, libctx, NULL);
    BIO_free(bio);
    assert_non_null(copy);
    return copy;
}

EVP_PKEY *key_from_numbers(OSSL_LIB_CTX *libctx, const char *query,
                           EVP_PKEY *key, int numbers, int given_as)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(libctx, "RSA", query);
    OSSL_PARAM *params = NULL;
    EVP_PKEY *made = NULL;

    assert_int_equal(EVP_PKEY_todata(key, numbers, &params), 1);
    assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
    assert_int_equal(EVP_PKEY_fromdata(ctx, &made, given_as, params), 1);
    OSSL_PARAM_free(params);
    EVP_PKEY_CTX_free(ctx);
    return made;
}

EVP_PKEY *key_make(OSSL_LIB_CTX *libctx, const char *type, size_t bits,
                   size_t primes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(libctx, type, NULL);
    EVP_PKEY *key = NULL;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_size_t(OSSL_PKEY_PARAM_RSA_BITS, &bits),
        OSSL_PARAM_construct_size_t(OSSL_PKEY_PARAM_RSA_PRIMES, &primes),
        OSSL_PARAM_construct_end(),
    };

    assert_non_null(ctx);
    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_params(ctx, params), 1);
    assert_int_equal(EVP_PKEY_generate(ctx, &key), 1);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* EVP_DigestSignInit_ex() of OpenSSL 4.0 leaves an error of its own where the
 * context has no such digest, although the provider has it. */
static void forget_missing_digest(OSSL_LIB_CTX *libctx)
{
    EVP_MD *digest = EVP_MD_fetch(libctx, "SHA256", NULL);

    if (digest == NULL)
        ERR_clear_error();
    EVP_MD_free(digest);
}

size_t sign_with(OSSL_LIB_CTX *libctx, EVP_PKEY *key, int padding,
                 unsigned char *signature, size_t size)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    int ok = 0;

    ok = ctx != NULL && EVP_DigestSignInit_ex(ctx, &key_ctx, "SHA256", libctx,
                                              NULL, key, NULL) == 1;
    forget_missing_digest(libctx);
    ok = ok &&
         (padding == 0 || EVP_PKEY_CTX_set_rsa_padding(key_ctx, padding) > 0) &&
         EVP_DigestSign(ctx, signature, &size, support_message,
                        sizeof(support_message)) == 1;
    EVP_MD_CTX_free(ctx);
    return ok && ERR_peek_error() == 0 ? size : 0;
}

int is_right(EVP_PKEY *oracle_key, int padding, const unsigned char *signature,
             size_t length)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key_ctx = NULL;
    int ok = 0;

    ok = ctx != NULL &&
         EVP_DigestVerifyInit_ex(ctx, &key_ctx, "SHA256", NULL, NULL,
                                 oracle_key, NULL) == 1 &&
         (padding == 0 || EVP_PKEY_CTX_set_rsa_padding(key_ctx, padding) > 0) &&
         EVP_DigestVerify(ctx, signature, length, support_message,
                          sizeof(support_message)) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

int signs_right(OSSL_LIB_CTX *subject, EVP_PKEY *key, EVP_PKEY *oracle_key)
{
    unsigned char signature[1024];
    size_t length = sign_with(subject, key, 0, signature, sizeof(signature));

    return length > 0 && is_right(oracle_key, 0, signature, length);
}
