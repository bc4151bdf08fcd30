/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a key leaves in memory: while it is there its numbers are found, in the
 * byte order of BIGNUMs, and after it was used and freed there are as many
 * copies as before.
 */
#include "tests/unit/support/unit_test.h"

#include <string.h>
#include <unistd.h>

#include <openssl/core_names.h>

#include "tests/unit/support/mappings.h"
#include "tests/unit/support/sanitizers.h"
#include "tests/unit/vault/padding_keys.h"

enum {
    NUMBER_BYTES = 64, /* of each number, from its lower end */
    ORDERS = 2,
};

static const char *const names[] = {
    OSSL_PKEY_PARAM_RSA_D,         OSSL_PKEY_PARAM_RSA_FACTOR1,
    OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
    OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
};

enum {
    NUMBERS = sizeof(names) / sizeof(names[0]),
};

static uint8_t patterns[NUMBERS][ORDERS][NUMBER_BYTES];
static unsigned found[NUMBERS][ORDERS];

static void read_patterns(const EVP_PKEY *key)
{
    for (int i = 0; i < NUMBERS; i++) {
        uint8_t bytes[256];
        BIGNUM *number = NULL;

        assert_true(EVP_PKEY_get_bn_param(key, names[i], &number));
        assert_int_equal(BN_bn2lebinpad(number, bytes, sizeof(bytes)),
                         sizeof(bytes));
        for (int j = 0; j < NUMBER_BYTES; j++)
            patterns[i][0][j] = patterns[i][1][NUMBER_BYTES - 1 - j] = bytes[j];
        OPENSSL_cleanse(bytes, sizeof(bytes));
        BN_clear_free(number);
    }
}

/* Counts the patterns in a mapping. */
static void count_in(void *arg, const mapping *m)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)m->from;
    const uint8_t *end = (const uint8_t *)(uintptr_t)m->to;

    (void)arg;
    if (strncmp(m->permissions, "rw", 2) != 0 || m->anonymous_kib == 0)
        return;
    for (int i = 0; i < NUMBERS; i++)
        for (int j = 0; j < ORDERS; j++)
            for (const uint8_t *hit = at;
                 (hit = memmem(hit, (size_t)(end - hit), patterns[i][j],
                               NUMBER_BYTES)) != NULL;
                 hit++)
                found[i][j]++;
}

static void count_all(unsigned counts[NUMBERS][ORDERS])
{
    memset(found, 0, sizeof(found));
    assert_true(each_mapping(getpid(), count_in, NULL));
    memcpy(counts, found, sizeof(found));
}

static void use_key(const warprsa_padding_key *key)
{
    uint8_t number[256] = {0}, answer[256], power[256] = {0};
    unsigned length = 0;
    warprsa_use_errors errors;
    warprsa_key_use use =
        use_of(WARPRSA_USE_SIGN, WARPRSA_PADDING_NONE, sizeof(number));

    number[255] = 2;
    assert_true(
        warprsa_padding_compute(key, &use, number, answer, &length, &errors));
    use.operation = WARPRSA_USE_DECRYPT;
    use.padding = WARPRSA_PADDING_PKCS1;
    (void)warprsa_padding_compute(key, &use, number, answer, &length, &errors);
    (void)warprsa_padding_finish(key, &use, number, power, answer, &length,
                                 &errors);
}

TEST(a_freed_key_has_gone)
{
    padding_subject subject;
    warprsa_padding_key *key = NULL;
    unsigned before[NUMBERS][ORDERS], with[NUMBERS][ORDERS],
        after[NUMBERS][ORDERS];

#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
    skip(); /* their shadows are too much memory to be looked through */
#endif
    subject_new(&subject, "2048", 2048, 2);
    read_patterns(subject.oracle);
    count_all(before);
    key = warprsa_padding_key_new(subject_library(), subject.oracle);
    assert_non_null(key);
    use_key(key);
    count_all(with);
    warprsa_padding_key_free(key);
    count_all(after);
    for (int i = 0; i < NUMBERS; i++) {
        assert_true(with[i][0] > before[i][0]);
        for (int j = 0; j < ORDERS; j++)
            assert_int_equal(after[i][j], before[i][j]);
    }
    subject_free(&subject);
}

RUN_TESTS(NULL, NULL)
