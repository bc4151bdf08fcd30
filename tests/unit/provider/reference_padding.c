/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the default provider's settings of a signature are as a use, and that
 * libcrypto is not asked for digests by the names that it gives them itself.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>

#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rsa.h>

#include "provider/reference_padding.h"

/* A library context that has no digest at all. */
static warprsa_context context;
static OSSL_PROVIDER *none;

/* The settings of the context that is asked. */
typedef struct settings {
    int padding;
    const char *digest, *mgf1;
} settings;

static int get(void *ctx, OSSL_PARAM params[])
{
    const settings *from = ctx;

    for (OSSL_PARAM *at = params; at->key != NULL; at++) {
        int ok = 1;

        if (strcmp(at->key, OSSL_PKEY_PARAM_PAD_MODE) == 0)
            ok = OSSL_PARAM_set_int(at, from->padding);
        else if (strcmp(at->key, OSSL_SIGNATURE_PARAM_DIGEST) == 0)
            ok = OSSL_PARAM_set_utf8_string(at, from->digest);
        else if (strcmp(at->key, OSSL_SIGNATURE_PARAM_MGF1_DIGEST) == 0)
            ok = OSSL_PARAM_set_utf8_string(at, from->mgf1);
        else if (strcmp(at->key, OSSL_SIGNATURE_PARAM_PSS_SALTLEN) == 0)
            ok = OSSL_PARAM_set_int(at, RSA_PSS_SALTLEN_DIGEST);
        if (!ok)
            return 0;
    }
    return 1;
}

static bool signs(int padding, const char *digest, const char *mgf1,
                  warprsa_key_use *use)
{
    settings from = {padding, digest, mgf1};

    return warprsa_reference_signs(&context, get, &from, use);
}

TEST(digests_by_name)
{
    static const struct {
        const char *name;
        uint8_t digest;
    } known[] = {
        {"SHA1", WARPRSA_DIGEST_SHA1},
        {"MD5-SHA1", WARPRSA_DIGEST_MD5_SHA1},
        {"RIPEMD160", WARPRSA_DIGEST_RIPEMD160},
        {"SHA224", WARPRSA_DIGEST_SHA224},
        {"SHA256", WARPRSA_DIGEST_SHA256},
        {"sha256", WARPRSA_DIGEST_SHA256},
        {"SHA2-256", WARPRSA_DIGEST_SHA256},
        {"SHA512", WARPRSA_DIGEST_SHA512},
        {"SHA2-512/256", WARPRSA_DIGEST_SHA512_256},
        {"SHA512-256", WARPRSA_DIGEST_SHA512_256},
        {"SHA3-256", WARPRSA_DIGEST_SHA3_256},
    };
    warprsa_key_use use;

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_true(signs(RSA_PKCS1_PADDING, known[i].name, "", &use));
        assert_int_equal(use.padding, WARPRSA_PADDING_PKCS1);
        assert_int_equal(use.digest, known[i].digest);
        assert_int_equal(use.input_bytes,
                         warprsa_use_digest_bytes(known[i].digest));
    }
    assert_false(signs(RSA_PKCS1_PADDING, "SHA-256", "", &use)); /* fetched */
    assert_false(signs(RSA_PKCS1_PADDING, "SHA2-1024", "", &use));
    assert_false(signs(RSA_PKCS1_PADDING, "", "", &use));
}

TEST(paddings)
{
    warprsa_key_use use;

    assert_true(signs(RSA_PKCS1_PSS_PADDING, "SHA256", "", &use));
    assert_int_equal(use.padding, WARPRSA_PADDING_PSS);
    assert_int_equal(use.mgf1_digest, WARPRSA_DIGEST_SHA256);
    assert_int_equal(use.salt_bytes, WARPRSA_SALT_DIGEST);
    assert_true(signs(RSA_PKCS1_PSS_PADDING, "SHA256", "SHA1", &use));
    assert_int_equal(use.mgf1_digest, WARPRSA_DIGEST_SHA1);
    assert_true(signs(RSA_NO_PADDING, "", "", &use));
    assert_int_equal(use.padding, WARPRSA_PADDING_NONE);
    assert_int_equal(use.input_bytes, 0);
    assert_false(signs(RSA_NO_PADDING, "SHA256", "", &use));
    assert_false(signs(RSA_X931_PADDING, "SHA256", "", &use));
}

static int begin_all(void **state)
{
    (void)state;
    context.libctx = OSSL_LIB_CTX_new();
    none = OSSL_PROVIDER_load(context.libctx, "null");
    return none == NULL;
}

static int end_all(void **state)
{
    (void)state;
    OSSL_PROVIDER_unload(none);
    OSSL_LIB_CTX_free(context.libctx);
    return 0;
}

RUN_TESTS(begin_all, end_all)
