/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks of a use's fields, and the names of what they stand for.
 */
#include "batching/vault/wire/key_use.h"

#include <stdbool.h>
#include <string.h>

static const char *const operations[WARPRSA_USE_OPERATIONS] = {
    [WARPRSA_USE_SIGN] = "sign",
    [WARPRSA_USE_DECRYPT] = "decrypt",
};

static const char *const paddings[WARPRSA_USE_PADDINGS] = {
    [WARPRSA_PADDING_NONE] = "none", [WARPRSA_PADDING_PKCS1] = "pkcs1",
    [WARPRSA_PADDING_PSS] = "pss",   [WARPRSA_PADDING_OAEP] = "oaep",
    [WARPRSA_PADDING_TLS] = "tls",
};

static const struct digest {
    const char *name;
    unsigned bytes;
    bool signs; /* libcrypto makes RSA signatures with it */
} digests[WARPRSA_USE_DIGESTS] = {
    [WARPRSA_DIGEST_NONE] = {"none", 0, false},
    [WARPRSA_DIGEST_MD5] = {"md5", 16, true},
    [WARPRSA_DIGEST_SHA1] = {"sha1", 20, true},
    [WARPRSA_DIGEST_MD5_SHA1] = {"md5-sha1", 36, true},
    [WARPRSA_DIGEST_RIPEMD160] = {"ripemd160", 20, true},
    [WARPRSA_DIGEST_SHA224] = {"sha224", 28, true},
    [WARPRSA_DIGEST_SHA256] = {"sha256", 32, true},
    [WARPRSA_DIGEST_SHA384] = {"sha384", 48, true},
    [WARPRSA_DIGEST_SHA512] = {"sha512", 64, true},
    [WARPRSA_DIGEST_SHA512_224] = {"sha512-224", 28, true},
    [WARPRSA_DIGEST_SHA512_256] = {"sha512-256", 32, true},
    [WARPRSA_DIGEST_SHA3_224] = {"sha3-224", 28, true},
    [WARPRSA_DIGEST_SHA3_256] = {"sha3-256", 32, true},
    [WARPRSA_DIGEST_SHA3_384] = {"sha3-384", 48, true},
    [WARPRSA_DIGEST_SHA3_512] = {"sha3-512", 64, true},
    [WARPRSA_DIGEST_BLAKE2S256] = {"blake2s256", 32, false},
    [WARPRSA_DIGEST_BLAKE2B512] = {"blake2b512", 64, false},
    [WARPRSA_DIGEST_SM3] = {"sm3", 32, false},
    [WARPRSA_DIGEST_SHAKE128] = {"shake128", 16, false},
    [WARPRSA_DIGEST_SHAKE256] = {"shake256", 32, false},
};

const char *warprsa_use_operation_name(unsigned operation)
{
    return operation >= WARPRSA_USE_SIGN && operation < WARPRSA_USE_OPERATIONS
               ? operations[operation]
               : "?";
}

const char *warprsa_use_padding_name(unsigned padding)
{
    return padding >= WARPRSA_PADDING_NONE && padding < WARPRSA_USE_PADDINGS
               ? paddings[padding]
               : "?";
}

const char *warprsa_use_digest_name(unsigned digest)
{
    return digest < WARPRSA_USE_DIGESTS ? digests[digest].name : "?";
}

static bool is_word(const char *name, const char *word, size_t length)
{
    return strlen(name) == length && memcmp(name, word, length) == 0;
}

int warprsa_use_operation_named(const char *word, size_t length)
{
    for (int i = WARPRSA_USE_SIGN; i < WARPRSA_USE_OPERATIONS; i++)
        if (is_word(operations[i], word, length))
            return i;
    return -1;
}

int warprsa_use_padding_named(const char *word, size_t length)
{
    for (int i = WARPRSA_PADDING_NONE; i < WARPRSA_USE_PADDINGS; i++)
        if (is_word(paddings[i], word, length))
            return i;
    return -1;
}

int warprsa_use_digest_named(const char *word, size_t length)
{
    for (int i = 0; i < WARPRSA_USE_DIGESTS; i++)
        if (is_word(digests[i].name, word, length))
            return i;
    return -1;
}

bool warprsa_use_is_checkable(const warprsa_key_use *use)
{
    return use->operation == WARPRSA_USE_SIGN ||
           use->padding == WARPRSA_PADDING_NONE;
}

unsigned warprsa_use_digest_bytes(unsigned digest)
{
    return digests[digest].bytes;
}

/* The fields that each padding needs may differ from 0, the others not. */
typedef struct needs {
    bool digest;
    bool mgf1_digest;
    bool salt;
    bool tls;
    bool label;
} needs;

static bool find_needs(const warprsa_key_use *use, needs *out)
{
    bool sign = use->operation == WARPRSA_USE_SIGN;

    switch ((warprsa_use_padding)use->padding) {
    case WARPRSA_PADDING_NONE:
        *out = (needs){0};
        return true;
    case WARPRSA_PADDING_PKCS1:
        *out = (needs){.digest = sign};
        return true;
    case WARPRSA_PADDING_PSS:
        *out = (needs){.digest = true, .mgf1_digest = true, .salt = true};
        return sign;
    case WARPRSA_PADDING_OAEP:
        *out = (needs){.digest = true, .mgf1_digest = true, .label = true};
        return !sign;
    case WARPRSA_PADDING_TLS:
        *out = (needs){.tls = true};
        return !sign;
    case WARPRSA_USE_PADDINGS:
        break;
    }
    return false;
}

uint32_t warprsa_use_digests(unsigned operation, unsigned padding)
{
    const warprsa_key_use use = {.operation = (uint8_t)operation,
                                 .padding = (uint8_t)padding};
    uint32_t bits = 0;
    needs need;

    if (!find_needs(&use, &need) || !need.digest)
        return 0;
    for (unsigned i = WARPRSA_DIGEST_NONE + 1; i < WARPRSA_USE_DIGESTS; i++)
        if (operation != WARPRSA_USE_SIGN || digests[i].signs)
            bits |= UINT32_C(1) << i;
    return need.mgf1_digest ? bits : bits | UINT32_C(1) << WARPRSA_DIGEST_NONE;
}

static const char *digest_fault(const warprsa_key_use *use, const needs *need)
{
    bool sign = use->operation == WARPRSA_USE_SIGN;

    if (use->digest >= WARPRSA_USE_DIGESTS ||
        use->mgf1_digest >= WARPRSA_USE_DIGESTS)
        return "no such digest";
    if ((!need->digest && use->digest != WARPRSA_DIGEST_NONE) ||
        (!need->mgf1_digest && use->mgf1_digest != WARPRSA_DIGEST_NONE))
        return "a digest that the padding has no use for";
    if (need->mgf1_digest && (use->digest == WARPRSA_DIGEST_NONE ||
                              use->mgf1_digest == WARPRSA_DIGEST_NONE))
        return "the padding needs a digest";
    if (sign && use->digest != WARPRSA_DIGEST_NONE &&
        !digests[use->digest].signs)
        return "a digest that makes no signatures";
    return NULL;
}

static const char *length_fault(const warprsa_key_use *use,
                                unsigned modulus_bytes)
{
    unsigned bytes = use->input_bytes;

    if (use->operation == WARPRSA_USE_SIGN &&
        use->padding == WARPRSA_PADDING_PSS)
        return bytes == digests[use->digest].bytes ? NULL
                                                   : "no hash of the digest";
    if (use->operation == WARPRSA_USE_SIGN &&
        use->padding == WARPRSA_PADDING_PKCS1)
        return bytes <= modulus_bytes ? NULL : "longer than the modulus";
    return bytes == modulus_bytes ? NULL : "not as long as the modulus";
}

static const char *label_fault(const warprsa_key_use *use)
{
    if (use->label_bytes > sizeof(use->label))
        return "too long a label";
    for (size_t i = use->label_bytes; i < sizeof(use->label); i++)
        if (use->label[i] != 0)
            return "bytes after the label";
    return NULL;
}

const char *warprsa_key_use_fault(const warprsa_key_use *use,
                                  unsigned modulus_bytes)
{
    needs need;
    const char *fault = NULL;

    if (use->operation < WARPRSA_USE_SIGN ||
        use->operation >= WARPRSA_USE_OPERATIONS)
        return "no such operation";
    if (use->padding < WARPRSA_PADDING_NONE ||
        use->padding >= WARPRSA_USE_PADDINGS)
        return "no such padding";
    if (!find_needs(use, &need))
        return "a padding that the operation does not have";
    fault = digest_fault(use, &need);
    if (fault == NULL)
        fault = length_fault(use, modulus_bytes);
    if (fault != NULL)
        return fault;
    if (need.salt ? use->salt_bytes < WARPRSA_SALT_AUTO_DIGEST_MAX ||
                        use->salt_bytes > WARPRSA_VAULT_MODULUS_BYTES_MAX
                  : use->salt_bytes != 0)
        return "no such length of a salt";
    if (!need.tls &&
        (use->tls_client_version != 0 || use->tls_alternative_version != 0))
        return "a TLS version that the padding has no use for";
    if (!need.label && use->label_bytes != 0)
        return "a label that the padding has no use for";
    return label_fault(use);
}
