/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of a vault key: which are in order, that each field of one that isn't is
 * looked at, and that names and numbers belong to each other.
 */
#include "tests/unit/support/unit_test.h"

#include <stdbool.h>
#include <string.h>

#include "batching/vault/wire/key_use.h"

enum {
    MODULUS_BYTES = 256,
};

static warprsa_key_use sound(unsigned operation, unsigned padding)
{
    warprsa_key_use use = {.operation = (uint8_t)operation,
                           .padding = (uint8_t)padding,
                           .input_bytes = MODULUS_BYTES};

    if (operation == WARPRSA_USE_SIGN && padding == WARPRSA_PADDING_PKCS1) {
        use.digest = WARPRSA_DIGEST_SHA256;
        use.input_bytes = 51;
    } else if (padding == WARPRSA_PADDING_PSS) {
        use.digest = WARPRSA_DIGEST_SHA384;
        use.mgf1_digest = WARPRSA_DIGEST_SHA256;
        use.salt_bytes = WARPRSA_SALT_DIGEST;
        use.input_bytes = 48;
    } else if (padding == WARPRSA_PADDING_OAEP) {
        use.digest = WARPRSA_DIGEST_SHAKE256;
        use.mgf1_digest = WARPRSA_DIGEST_SHA1;
        use.label_bytes = 2;
        use.label[0] = 7;
    } else if (padding == WARPRSA_PADDING_TLS) {
        use.tls_client_version = 0x0303;
        use.tls_alternative_version = 0x0301;
    }
    return use;
}

/* The paddings that an operation has. */
static bool has(unsigned operation, unsigned padding)
{
    if (padding == WARPRSA_PADDING_NONE || padding == WARPRSA_PADDING_PKCS1)
        return true;
    return (operation == WARPRSA_USE_SIGN) == (padding == WARPRSA_PADDING_PSS);
}

static bool is_sound(const warprsa_key_use *use)
{
    return warprsa_key_use_fault(use, MODULUS_BYTES) == NULL;
}

TEST(operations_and_paddings)
{
    for (unsigned operation = 0; operation < 256; operation++)
        for (unsigned padding = 0; padding < 256; padding++) {
            const warprsa_key_use use = sound(operation, padding);

            assert_int_equal(is_sound(&use),
                             operation >= WARPRSA_USE_SIGN &&
                                 operation <= WARPRSA_USE_DECRYPT &&
                                 padding >= WARPRSA_PADDING_NONE &&
                                 padding <= WARPRSA_PADDING_TLS &&
                                 has(operation, padding));
        }
}

/* Of a sound use of each kind, calls try() with a copy. */
static void each_kind(void (*try)(const warprsa_key_use *use))
{
    for (unsigned operation = WARPRSA_USE_SIGN;
         operation < WARPRSA_USE_OPERATIONS; operation++)
        for (unsigned padding = WARPRSA_PADDING_NONE;
             padding < WARPRSA_USE_PADDINGS; padding++)
            if (has(operation, padding)) {
                const warprsa_key_use use = sound(operation, padding);

                try(&use);
            }
}

static void try_digests(const warprsa_key_use *use)
{
    const bool sign = use->operation == WARPRSA_USE_SIGN;
    const bool needs_mgf1 = use->padding == WARPRSA_PADDING_PSS ||
                            use->padding == WARPRSA_PADDING_OAEP;
    const bool takes_digest =
        needs_mgf1 || (sign && use->padding == WARPRSA_PADDING_PKCS1);

    for (unsigned digest = 0; digest < 256; digest++) {
        warprsa_key_use other = *use;
        bool known = digest < WARPRSA_USE_DIGESTS;

        other.mgf1_digest = (uint8_t)digest;
        assert_int_equal(is_sound(&other),
                         needs_mgf1 ? known && digest != 0 : digest == 0);
        other = *use;
        other.digest = (uint8_t)digest;
        if (use->padding == WARPRSA_PADDING_PSS && known)
            other.input_bytes = (uint16_t)warprsa_use_digest_bytes(digest);
        if (sign && digest >= WARPRSA_DIGEST_BLAKE2S256)
            known = false; /* they sign nothing */
        assert_int_equal(is_sound(&other),
                         takes_digest ? known && (digest != 0 || !needs_mgf1)
                                      : digest == 0);
    }
}

TEST(digests)
{
    each_kind(try_digests);
}

static void try_lengths(const warprsa_key_use *use)
{
    warprsa_key_use other = *use;

    for (unsigned bytes = 0; bytes <= UINT16_MAX; bytes++) {
        bool expected = bytes == MODULUS_BYTES;

        if (use->operation == WARPRSA_USE_SIGN) {
            if (use->padding == WARPRSA_PADDING_PKCS1)
                expected = bytes <= MODULUS_BYTES;
            if (use->padding == WARPRSA_PADDING_PSS)
                expected = bytes == 48;
        }
        other.input_bytes = (uint16_t)bytes;
        assert_int_equal(is_sound(&other), expected);
    }
}

TEST(lengths)
{
    each_kind(try_lengths);
}

static void try_salts(const warprsa_key_use *use)
{
    static const int32_t salts[] = {INT32_MIN, -5, -4,   -3,   -2,       -1,
                                    0,         1,  2048, 2049, INT32_MAX};
    warprsa_key_use other = *use;

    for (size_t i = 0; i < sizeof(salts) / sizeof(salts[0]); i++) {
        other.salt_bytes = salts[i];
        assert_int_equal(is_sound(&other),
                         use->padding == WARPRSA_PADDING_PSS
                             ? salts[i] >= -4 && salts[i] <= 2048
                             : salts[i] == 0);
    }
}

TEST(salts)
{
    each_kind(try_salts);
}

static void try_tls_versions(const warprsa_key_use *use)
{
    const bool tls = use->padding == WARPRSA_PADDING_TLS;
    warprsa_key_use other = *use;

    other.tls_client_version = 0xffff;
    assert_int_equal(is_sound(&other), tls);
    other = *use;
    other.tls_alternative_version = 1;
    assert_int_equal(is_sound(&other), tls);
}

/* The mask of digests is that of the uses without a fault. */
static void try_digest_masks(const warprsa_key_use *use)
{
    const uint32_t mask = warprsa_use_digests(use->operation, use->padding);
    const bool twice = use->mgf1_digest != WARPRSA_DIGEST_NONE;
    uint32_t sound_ones = 0;

    for (unsigned digest = 0; digest < WARPRSA_USE_DIGESTS; digest++) {
        warprsa_key_use other = *use;

        other.digest = (uint8_t)digest;
        if (twice)
            other.mgf1_digest = (uint8_t)digest;
        if (use->padding == WARPRSA_PADDING_PSS)
            other.input_bytes = (uint16_t)warprsa_use_digest_bytes(digest);
        sound_ones |= (uint32_t)is_sound(&other) << digest;
    }
    assert_int_equal(mask != 0 ? mask : 1 << WARPRSA_DIGEST_NONE, sound_ones);
}

TEST(digest_masks)
{
    each_kind(try_digest_masks);
    assert_int_equal(
        warprsa_use_digests(WARPRSA_USE_SIGN, WARPRSA_PADDING_OAEP), 0);
    assert_int_equal(
        warprsa_use_digests(WARPRSA_USE_DECRYPT, WARPRSA_PADDING_PSS), 0);
}

TEST(tls_versions)
{
    each_kind(try_tls_versions);
}

/* Labels have one form: zeros follow. */
static void try_labels(const warprsa_key_use *use)
{
    const bool oaep = use->padding == WARPRSA_PADDING_OAEP;
    warprsa_key_use other = *use;

    for (unsigned bytes = 1; bytes <= UINT16_MAX; bytes++) {
        other.label_bytes = (uint16_t)bytes;
        assert_int_equal(is_sound(&other),
                         oaep && bytes <= WARPRSA_USE_LABEL_BYTES_MAX);
    }
    for (unsigned i = 0; i < WARPRSA_USE_LABEL_BYTES_MAX; i++) {
        other = *use;
        other.label[i] = 1;
        assert_int_equal(is_sound(&other), oaep && i < use->label_bytes);
    }
}

TEST(labels)
{
    each_kind(try_labels);
}

TEST(names)
{
    for (unsigned i = 0; i < 256; i++) {
        const char *operation = warprsa_use_operation_name(i);
        const char *padding = warprsa_use_padding_name(i);
        const char *digest = warprsa_use_digest_name(i);

        if (strcmp(operation, "?") != 0)
            assert_int_equal(
                warprsa_use_operation_named(operation, strlen(operation)), i);
        if (strcmp(padding, "?") != 0)
            assert_int_equal(
                warprsa_use_padding_named(padding, strlen(padding)), i);
        assert_int_equal(strcmp(digest, "?") != 0, i < WARPRSA_USE_DIGESTS);
        if (i < WARPRSA_USE_DIGESTS)
            assert_int_equal(warprsa_use_digest_named(digest, strlen(digest)),
                             i);
    }
    assert_int_equal(warprsa_use_digest_named("sha25", 5), -1);
    assert_int_equal(warprsa_use_digest_named("sha256,", 6),
                     WARPRSA_DIGEST_SHA256);
    assert_int_equal(warprsa_use_padding_named("pkcs", 4), -1);
    assert_int_equal(warprsa_use_operation_named("", 0), -1);
}

RUN_TESTS(NULL, NULL)
