/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks of other hosts' results: which are checked together, what becomes of
 * wrong ones, and the check by libcrypto. The checks by AVX-512 IFMA, which
 * gpu_ifma_check tests, are replaced by what stands here.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/remote/engine/verify.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/bn.h>
#include <openssl/rand.h>

enum {
    BYTES = 128,
    TASKS = 50,
    CALLS = 16,
};

struct warprsa_ifma_public_key {
    uint64_t e;
};

/* ---- In the place of gpu/ifma: a result is right that is the input ---- */

static struct {
    warprsa_status status; /* of the next key */
    unsigned keys, calls;
    size_t counts[CALLS];   /* of the results of each call */
    bool has_usual[CALLS];  /* exponents, by call */
    bool has_longer[CALLS]; /* the same */
} ifma;

warprsa_status warprsa_ifma_public_key_new(const warprsa_private_key *key,
                                           warprsa_ifma_public_key **out)
{
    *out = NULL;
    if (ifma.status != WARPRSA_OK)
        return ifma.status;
    *out = malloc(sizeof(**out));
    assert_non_null(*out);
    (*out)->e = 0;
    for (int i = 0; i < WARPRSA_EXPONENT_BYTES; i++)
        (*out)->e = (*out)->e << 8 | key->e[i];
    ifma.keys++;
    return WARPRSA_OK;
}

void warprsa_ifma_public_key_free(warprsa_ifma_public_key *key)
{
    ifma.keys -= key != NULL;
    free(key);
}

void warprsa_ifma_check(warprsa_ifma_result *results, size_t count)
{
    const unsigned call = ifma.calls++;

    assert_in_range(count, 1, WARPRSA_IFMA_LANES);
    assert_true(call < CALLS);
    ifma.counts[call] = count;
    for (size_t i = 0; i < count; i++) {
        if (results[i].key->e > 0x1ffff)
            ifma.has_longer[call] = true;
        else
            ifma.has_usual[call] = true;
        results[i].is_right =
            memcmp(results[i].input, results[i].output, BYTES) == 0;
    }
}

/* ---- The tests ---- */

static warprsa_private_key key_of(uint64_t e)
{
    warprsa_private_key key = {.modulus_bytes = BYTES};
    uint8_t *n = key.n + sizeof(key.n) - BYTES;

    assert_int_equal(RAND_bytes(n, BYTES), 1);
    n[0] |= 0x80;
    n[BYTES - 1] |= 1;
    for (int i = 0; i < WARPRSA_EXPONENT_BYTES; i++)
        key.e[WARPRSA_EXPONENT_BYTES - 1 - i] = (uint8_t)(e >> (8 * i));
    return key;
}

static struct {
    warprsa_task tasks[TASKS];
    uint8_t input[TASKS][BYTES], output[TASKS][BYTES];
} t;

static void fill(void)
{
    memset(&t, 0, sizeof(t));
    for (size_t i = 0; i < TASKS; i++) {
        memset(t.input[i], (int)i + 1, BYTES);
        memset(t.output[i], (int)i + 1, BYTES);
        t.tasks[i] = (warprsa_task){.input = t.input[i], .output = t.output[i]};
    }
}

/* The first `count` have been checked; those below `wrong`, in steps of three,
 * were not right. */
static void expect(size_t count, size_t wrong)
{
    static const uint8_t zeros[BYTES];

    for (size_t i = 0; i < count; i++) {
        const bool is_wrong = i < wrong && i % 3 == 0;

        assert_int_equal(t.tasks[i].status,
                         is_wrong ? WARPRSA_CHECK_FAILED : WARPRSA_OK);
        assert_int_equal(memcmp(t.output[i], zeros, BYTES) == 0, is_wrong);
    }
}

/* Every number of results: eights, and one group of what is left. */
TEST(results_are_checked_by_eights)
{
    const warprsa_private_key key = key_of(65537);
    warprsa_verify *verify;

    memset(&ifma, 0, sizeof(ifma));
    verify = warprsa_verify_new(&key);
    assert_non_null(verify);
    for (size_t count = 0; count <= TASKS; count++) {
        warprsa_verify_batch batch = {0};

        fill();
        ifma.calls = 0;
        for (size_t i = 0; i < count; i++) {
            t.output[i][i] ^= i % 3 == 0;
            warprsa_verify_add(&batch, verify, &t.tasks[i]);
        }
        warprsa_verify_end(&batch);
        assert_int_equal(ifma.calls, (count + 7) / 8);
        for (unsigned call = 0; call < ifma.calls; call++)
            assert_int_equal(ifma.counts[call],
                             call < count / 8 ? 8 : count % 8);
        expect(count, count);
    }
    warprsa_verify_free(verify);
    assert_int_equal(ifma.keys, 0);
}

/* An exponent of 64 bits takes eight times as long as 65537, and costs only
 * those that are like it. */
TEST(long_exponents_wait_apart)
{
    static const uint64_t exponents[] = {65537, 0x1ffff, 3, 0x20001,
                                         UINT64_MAX};
    enum {
        EXPONENTS = sizeof(exponents) / sizeof(exponents[0]),
        LONGER = 2, /* the last ones */
    };
    warprsa_verify *verify[EXPONENTS];
    warprsa_verify_batch batch = {0};
    size_t usual = 0, longer = 0;

    memset(&ifma, 0, sizeof(ifma));
    fill();
    for (int i = 0; i < EXPONENTS; i++) {
        const warprsa_private_key key = key_of(exponents[i]);

        verify[i] = warprsa_verify_new(&key);
        assert_non_null(verify[i]);
    }
    for (size_t i = 0; i < TASKS; i++) {
        t.output[i][0] ^= i % 3 == 0;
        warprsa_verify_add(&batch, verify[i % EXPONENTS], &t.tasks[i]);
    }
    warprsa_verify_end(&batch);
    expect(TASKS, TASKS);
    for (unsigned call = 0; call < ifma.calls; call++) {
        assert_true(ifma.has_usual[call] != ifma.has_longer[call]);
        *(ifma.has_usual[call] ? &usual : &longer) += ifma.counts[call];
    }
    assert_int_equal(usual, TASKS / EXPONENTS * (EXPONENTS - LONGER));
    assert_int_equal(longer, TASKS / EXPONENTS * LONGER);
    assert_int_equal(ifma.calls, 4 + 3); /* 30 and 20 in eights */
    for (int i = 0; i < EXPONENTS; i++)
        warprsa_verify_free(verify[i]);
    assert_int_equal(ifma.keys, 0);
}

/* input = output^e mod n. */
static void make_right(size_t i, const warprsa_private_key *key)
{
    BN_CTX *ctx = BN_CTX_new();
    BIGNUM *n = BN_bin2bn(key->n, sizeof(key->n), NULL);
    BIGNUM *e = BN_bin2bn(key->e, sizeof(key->e), NULL);
    BIGNUM *s = BN_bin2bn(t.output[i], BYTES, NULL), *m = BN_new();

    assert_true(BN_cmp(s, n) < 0 && BN_mod_exp(m, s, e, n, ctx) == 1 &&
                BN_bn2binpad(m, t.input[i], BYTES) == BYTES);
    BN_free(n);
    BN_free(e);
    BN_free(s);
    BN_free(m);
    BN_CTX_free(ctx);
}

/* Without AVX-512 IFMA, and for keys that these checks don't take. */
TEST(libcrypto_checks_what_is_left)
{
    static const uint64_t exponents[] = {3, 65537, UINT64_MAX};
    static const warprsa_status refusals[] = {WARPRSA_NO_DEVICE,
                                              WARPRSA_UNSUPPORTED_KEY};

    memset(&ifma, 0, sizeof(ifma));
    for (size_t k = 0; k < 3; k++) {
        const warprsa_private_key key = key_of(exponents[k]);
        warprsa_verify_batch batch = {0};
        warprsa_verify *verify;

        ifma.status = refusals[k % 2];
        verify = warprsa_verify_new(&key);
        assert_non_null(verify);
        fill();
        for (size_t i = 0; i < TASKS; i++) {
            make_right(i, &key);
            t.output[i][BYTES - 1 - i] ^= i % 3 == 0 ? 0x40 : 0;
            warprsa_verify_add(&batch, verify, &t.tasks[i]);
        }
        warprsa_verify_end(&batch);
        expect(TASKS, TASKS);
        /* n^e is 0 modulo n, as 0^e is, but n is not below n. */
        memcpy(t.output[0], key.n + sizeof(key.n) - BYTES, BYTES);
        memset(t.input[0], 0, BYTES);
        t.tasks[0].status = WARPRSA_OK;
        warprsa_verify_add(&batch, verify, &t.tasks[0]);
        assert_int_equal(t.tasks[0].status, WARPRSA_CHECK_FAILED);
        warprsa_verify_free(verify);
    }
    assert_int_equal(ifma.calls, 0);
}

TEST(no_memory_is_no_key)
{
    const warprsa_private_key key = key_of(65537);

    ifma.status = WARPRSA_NO_MEMORY;
    assert_null(warprsa_verify_new(&key));
}

RUN_TESTS(NULL, NULL)
