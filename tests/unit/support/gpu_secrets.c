/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/gpu_secrets.h"

#include <string.h>

#include "tests/unit/support/unit_test.h"

enum {
    SECRETS_MAX = 4096,
    FILTER = 65536,
};

static uint64_t secrets[SECRETS_MAX];
static unsigned count;
/* Rules out most words at once. */
static uint8_t filter[FILTER];

void secrets_forget(void)
{
    count = 0;
    memset(filter, 0, sizeof(filter));
}

static int is_secret(uint64_t word)
{
    if (!filter[word % FILTER])
        return 0;
    for (unsigned i = 0; i < count; i++)
        if (secrets[i] == word)
            return 1;
    return 0;
}

void secrets_add(const void *from, size_t size)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;

        memcpy(&word, (const uint8_t *)from + at, sizeof(word));
        if (word >> 32 == 0 || (word & 0xffffffffu) == 0 || is_secret(word) ||
            count == SECRETS_MAX)
            continue;
        secrets[count++] = word;
        filter[word % FILTER] = 1;
    }
}

void secrets_add_key(made_key *key, uint8_t *input)
{
    uint8_t answer[WARPRSA_MODULUS_BYTES_MAX];
    BIGNUM *m = BN_new(), *s = BN_new();
    const int bytes = (int)key->key.modulus_bytes;

    assert_true(m != NULL && s != NULL);
    secrets_add(key->key.p, sizeof(key->key.p));
    secrets_add(key->key.q, sizeof(key->key.q));
    secrets_add(key->key.dp, sizeof(key->key.dp));
    secrets_add(key->key.dq, sizeof(key->key.dq));
    secrets_add(key->key.qinv, sizeof(key->key.qinv));
    memset(input, 0x35, (size_t)bytes);
    input[0] = 0;
    assert_non_null(BN_bin2bn(input, bytes, m));
    assert_true(made_key_answer(key, s, m));
    assert_int_equal(bytes, BN_bn2binpad(s, answer, bytes));
    secrets_add(answer, (size_t)bytes);
    BN_free(m);
    BN_free(s);
}

unsigned secrets_count(void)
{
    return count;
}

unsigned secrets_in(const void *block, size_t size)
{
    unsigned found = 0;

    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += 4) {
        uint64_t word;

        memcpy(&word, (const uint8_t *)block + at, sizeof(word));
        found += (unsigned)is_secret(word);
    }
    return found;
}
