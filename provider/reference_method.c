/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private operations of references. The vault adds and removes PKCS #1 v1.5
 * padding here, PSS too where that was intended. For any other padding
 * libcrypto's own function runs, and its mod_exp becomes a use without padding.
 */
#include "provider/reference_method.h"

#include <string.h>

#include <openssl/bn.h>
#include <openssl/crypto.h>

#include "batching/vault/wire/digest_info.h"
#include "provider/reference_use.h"

enum {
    /* From libcrypto 3.2 on: PKCS #1 v1.5 whose faults are told. */
    NO_IMPLICIT_REJECT_PADDING = 8,
};

static _Thread_local const warprsa_intended_use *intended_use;

/* What mod_exp() is called for. */
static _Thread_local warprsa_use_operation operation_of_mod_exp;

void warprsa_reference_intend(const warprsa_intended_use *intended)
{
    intended_use = intended;
}

static const warprsa_intended_use *take_intended(void)
{
    const warprsa_intended_use *intended = intended_use;

    intended_use = NULL;
    return intended;
}

/* The digest whose DigestInfo is signed, or MD5 and SHA-1 after each other. The
 * vault takes a named digest with libcrypto's own DigestInfo alone. What is
 * encoded otherwise is NONE: any bytes, if the rules allow them. */
static uint8_t digest_signed(const unsigned char *from, int length)
{
    if (length == (int)warprsa_use_digest_bytes(WARPRSA_DIGEST_MD5_SHA1))
        return WARPRSA_DIGEST_MD5_SHA1;
    return (uint8_t)warprsa_digest_info_of(from, (size_t)length);
}

/* Signs. Returns the length of the modulus, or -1. */
static int sign(RSA *rsa, const warprsa_key_use *use, const uint8_t *input,
                uint8_t *to)
{
    const int size = RSA_size(rsa);

    return warprsa_reference_use(warprsa_rsa_of(rsa), use, input, to) == size
               ? size
               : -1;
}

/* A use without padding of a number as long as the modulus. */
static warprsa_key_use raw_use(warprsa_use_operation operation, int size)
{
    return (warprsa_key_use){
        .operation = (uint8_t)operation,
        .padding = WARPRSA_PADDING_NONE,
        .input_bytes = (uint16_t)size,
    };
}

/* The comparison need not be constant-time, since both numbers are public. */
bool warprsa_reference_is_below(const unsigned char *number, const RSA *rsa)
{
    const warprsa_rsa *ours = warprsa_rsa_of(rsa);

    return memcmp(number, ours->modulus, ours->reference->modulus_bytes) < 0;
}

bool warprsa_reference_number(uint8_t *number, int length,
                              const unsigned char *from, const RSA *rsa)
{
    const int size = RSA_size(rsa);

    if (length < 1 || length > size || size > WARPRSA_VAULT_MODULUS_BYTES_MAX)
        return false;
    memset(number, 0, (size_t)(size - length));
    memcpy(number + size - length, from, (size_t)length);
    return warprsa_reference_is_below(number, rsa);
}

/* Signs a number, and lets the vault add no padding. */
static int sign_number(RSA *rsa, const unsigned char *from, unsigned char *to)
{
    const warprsa_key_use use = raw_use(WARPRSA_USE_SIGN, RSA_size(rsa));

    return sign(rsa, &use, from, to);
}

/* Signs with PKCS #1 v1.5 padding. */
static int sign_info(RSA *rsa, const unsigned char *from, int length,
                     unsigned char *to)
{
    const warprsa_key_use use = {
        .operation = WARPRSA_USE_SIGN,
        .padding = WARPRSA_PADDING_PKCS1,
        .digest = digest_signed(from, length),
        .input_bytes = (uint16_t)length,
    };

    return sign(rsa, &use, from, to);
}

int warprsa_reference_priv_enc(int length, const unsigned char *from,
                               unsigned char *to, RSA *rsa, int padding)
{
    const warprsa_intended_use *intended = take_intended();

    if (padding == RSA_NO_PADDING && intended != NULL)
        return sign(rsa, &intended->use, intended->hash, to);
    if (padding == RSA_PKCS1_PADDING && length >= 0 &&
        length <= RSA_size(rsa) - RSA_PKCS1_PADDING_SIZE)
        return sign_info(rsa, from, length, to);
    /* libcrypto finds what is wrong with other numbers. */
    if (padding == RSA_NO_PADDING && length == RSA_size(rsa) &&
        warprsa_reference_is_below(from, rsa))
        return sign_number(rsa, from, to);
    operation_of_mod_exp = WARPRSA_USE_SIGN;
    return RSA_meth_get_priv_enc(RSA_PKCS1_OpenSSL())(length, from, to, rsa,
                                                      padding);
}

/* Removes the padding from a number if the vault has not. */
static int finish(int padding, const uint8_t *number, int length,
                  unsigned char *to)
{
    if (length < 0)
        return -1;
    if (padding == NO_IMPLICIT_REJECT_PADDING)
        return RSA_padding_check_PKCS1_type_2(to, length, number, length,
                                              length);
    memcpy(to, number, (size_t)length);
    return length;
}

static int decrypt(RSA *rsa, const uint8_t *number, unsigned char *to,
                   int padding)
{
    uint8_t answer[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    warprsa_key_use use = raw_use(WARPRSA_USE_DECRYPT, RSA_size(rsa));
    int result = 0;

    if (padding == RSA_PKCS1_PADDING)
        use.padding = WARPRSA_PADDING_PKCS1;
    result = warprsa_reference_use(warprsa_rsa_of(rsa), &use, number, answer);
    result = finish(padding, answer, result, to);
    OPENSSL_cleanse(answer, sizeof(answer));
    return result;
}

int warprsa_reference_priv_dec(int length, const unsigned char *from,
                               unsigned char *to, RSA *rsa, int padding)
{
    uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX];

    if ((padding == RSA_PKCS1_PADDING || padding == RSA_NO_PADDING ||
         padding == NO_IMPLICIT_REJECT_PADDING) &&
        warprsa_reference_number(number, length, from, rsa))
        return decrypt(rsa, number, to, padding);
    operation_of_mod_exp = WARPRSA_USE_DECRYPT;
    return RSA_meth_get_priv_dec(RSA_PKCS1_OpenSSL())(length, from, to, rsa,
                                                      padding);
}

int warprsa_reference_mod_exp(BIGNUM *r0, const BIGNUM *in, RSA *rsa,
                              BN_CTX *bn_ctx)
{
    uint8_t number[WARPRSA_VAULT_MODULUS_BYTES_MAX];
    const int size = RSA_size(rsa);
    const warprsa_key_use use = raw_use(operation_of_mod_exp, size);
    bool ok = false;

    (void)bn_ctx;
    ok = BN_bn2binpad(in, number, size) == size &&
         warprsa_reference_use(warprsa_rsa_of(rsa), &use, number, number) ==
             size &&
         BN_bin2bn(number, size, r0) != NULL;
    OPENSSL_cleanse(number, sizeof(number));
    return ok;
}
