/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The known-answer test at load: its key, message and signature. It goes
 * through our tables as libcrypto does.
 */
#include "provider/self_test.h"

#include <string.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/param_build.h>
#include <openssl/params.h>

#include "provider/function_table.h"

enum {
    BYTES = 128,
};

/* A key for this test alone. */
static const struct {
    const char *name;
    const char *hex;
} numbers[] = {
    {OSSL_PKEY_PARAM_RSA_N,
     "c6024d8b75cbba980b29be6bd5d9dcc029ed45977a6d14dc54c639c99449744b"
     "7ab64b67dc3bb11e21d406b4fb0554d127fd52822e54b19f86c992af18d94c02"
     "5a34e9504899f4334b9689a5385fdf853d9d4d6849836064382a89083dcb6887"
     "2bba82fc2671519a2ba5662980e8f1e615aeaefc71451a3e28b083294a8b7323"},
    {OSSL_PKEY_PARAM_RSA_E, "010001"},
    {OSSL_PKEY_PARAM_RSA_D,
     "78817c4a0cb5a168d91a5d9e6936bee7605cdbc695a67f549c6f4b4a07ea3051"
     "a36c0036444d3bbcd7df9ef953efe9afa503c1cc22803edd947d66bd13856380"
     "d4eb4866ceb36581fe99c12890e3ea9ac7fa1abf99d78f18f3a98307f49ba0d9"
     "f0f2902a2956b9fd6d490304603889799b7eeac2197eb26f5f70a4a55a1bd521"},
    {OSSL_PKEY_PARAM_RSA_FACTOR1,
     "e4b2cb282cce3dd6ec7726fd70f6fcd0ddca6dd557121d63fcc4cfe22bd96bb0"
     "c62538bda23771d27fbc8035aa5f8bb7e1b1968871d2af69b7b2a190bf9b0551"},
    {OSSL_PKEY_PARAM_RSA_FACTOR2,
     "dda59dbf9f36573ca1b2479632d0212f0a40eeac0f042fd9f4336e221cbb1ea8"
     "b97184ee0d3252ed104c47966730a0a1e558adc59b5a3ba75d898bd520ca2433"},
    {OSSL_PKEY_PARAM_RSA_EXPONENT1,
     "6bba48f660bcb9e67eb6d5d7f699719795922050a9563020045655324dc379f5"
     "e8306a5cf187ba8714829fc627be201b7b25e329dcac08d2fca419750cbca231"},
    {OSSL_PKEY_PARAM_RSA_EXPONENT2,
     "6e74de8c64379c79e6cb05c9e040c088c4bf5f31f7b9ca6effb7b1a6e6528a10"
     "e379a3194f12492942fa00a2ff81c84b66142f654eea44d83f51109281e8bae9"},
    {OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
     "2ddf506b0e384a905f17d4635e54095b68e87f6610e70988d8b9206d4a8e43cb"
     "9eb1ccbfb2597c52884db1bac85a6a6df0b819226ef6bf91ec1abf335030cd61"},
};

/* Signed with PKCS #1 v1.5 padding of type 1 (RFC 8017), without a digest. */
static const char message[] = "warprsa known-answer test";

static const char signature[] =
    "c241068ea7a7a602fd322b525640e9e73b39edd0d42d468f60026d928e90a492"
    "f6768fb3d42f999131e27f076ca4fa65870b4b2f68738f70028bb93699d39068"
    "ec168ad31e32e13a4161da245b645593f676dc6af42aa54f9ec65cef6550ed1d"
    "778aa4c287b5ee7c12bdfb6a9d13f4d9ff8e9b7d1bcd42cd48369a3424f05412";

static OSSL_PARAM *key_params(void)
{
    enum {
        COUNT = sizeof(numbers) / sizeof(numbers[0])
    };
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *values[COUNT] = {0};
    OSSL_PARAM *params = NULL;
    bool ok = builder != NULL;

    for (int i = 0; ok && i < COUNT; i++)
        ok = BN_hex2bn(&values[i], numbers[i].hex) != 0 &&
             OSSL_PARAM_BLD_push_BN(builder, numbers[i].name, values[i]);
    if (ok)
        params = OSSL_PARAM_BLD_to_param(builder);
    OSSL_PARAM_BLD_free(builder);
    for (int i = 0; i < COUNT; i++)
        BN_free(values[i]);
    return params;
}

/* A function of a table's first algorithm, which is plain RSA. */
static void (*function(const OSSL_ALGORITHM *table, int id))(void)
{
    return warprsa_function_find(table->implementation, id);
}

/* An empty key, made by the function that libcrypto would call. */
static void *make_key(warprsa_context *context, const OSSL_ALGORITHM *table)
{
    OSSL_FUNC_keymgmt_new_ex_fn *new_ex =
        (OSSL_FUNC_keymgmt_new_ex_fn *)function(table,
                                                OSSL_FUNC_KEYMGMT_NEW_EX);
    OSSL_FUNC_keymgmt_new_fn *new =
        (OSSL_FUNC_keymgmt_new_fn *)function(table, OSSL_FUNC_KEYMGMT_NEW);

    if (new_ex != NULL)
        return new_ex(context, NULL);
    return new != NULL ? new (context) : NULL;
}

static void free_key(const warprsa_context *context, void *key)
{
    OSSL_FUNC_keymgmt_free_fn *free_fn = (OSSL_FUNC_keymgmt_free_fn *)function(
        context->algorithms.keymgmt, OSSL_FUNC_KEYMGMT_FREE);

    free_fn(key);
}

static void *import_key(warprsa_context *context)
{
    const OSSL_ALGORITHM *table = context->algorithms.keymgmt;
    OSSL_FUNC_keymgmt_import_fn *import =
        (OSSL_FUNC_keymgmt_import_fn *)function(table,
                                                OSSL_FUNC_KEYMGMT_IMPORT);
    OSSL_PARAM *params = key_params();
    void *key = params == NULL ? NULL : make_key(context, table);

    if (key != NULL && !import(key, OSSL_KEYMGMT_SELECT_KEYPAIR, params)) {
        free_key(context, key);
        key = NULL;
    }
    OSSL_PARAM_free(params);
    return key;
}

static bool sign(warprsa_context *context, void *key,
                 unsigned char result[BYTES])
{
    const OSSL_ALGORITHM *table = context->algorithms.signature;
    OSSL_FUNC_signature_newctx_fn *newctx =
        (OSSL_FUNC_signature_newctx_fn *)function(table,
                                                  OSSL_FUNC_SIGNATURE_NEWCTX);
    OSSL_FUNC_signature_sign_init_fn *init =
        (OSSL_FUNC_signature_sign_init_fn *)function(
            table, OSSL_FUNC_SIGNATURE_SIGN_INIT);
    OSSL_FUNC_signature_sign_fn *sign = (OSSL_FUNC_signature_sign_fn *)function(
        table, OSSL_FUNC_SIGNATURE_SIGN);
    OSSL_FUNC_signature_freectx_fn *freectx =
        (OSSL_FUNC_signature_freectx_fn *)function(table,
                                                   OSSL_FUNC_SIGNATURE_FREECTX);
    void *ctx = newctx(context, NULL);
    size_t length = BYTES;
    bool ok = ctx != NULL && init(ctx, key, NULL) &&
              sign(ctx, result, &length, BYTES, (const unsigned char *)message,
                   sizeof(message) - 1) &&
              length == BYTES;

    freectx(ctx);
    return ok;
}

bool warprsa_self_test(warprsa_context *context)
{
    unsigned char expected[BYTES], result[BYTES] = {0};
    size_t length = 0;
    void *key = NULL;
    bool ok = false;

    context->testing = true;
    key = import_key(context);
    ok = key != NULL &&
         OPENSSL_hexstr2buf_ex(expected, sizeof(expected), &length, signature,
                               '\0') &&
         sign(context, key, result) &&
         CRYPTO_memcmp(expected, result, BYTES) == 0;
    if (key != NULL)
        free_key(context, key);
    context->testing = false;
    if (ok && context->tested == 1)
        return true;
    warprsa_raise(&context->core, WARPRSA_R_SELF_TEST,
                  ok ? "known-answer test: the private operation of a key from "
                       "the default provider does not reach this one"
                     : "known-answer test: the signature is wrong or could not "
                       "be made");
    return false;
}
