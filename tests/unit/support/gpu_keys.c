/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/gpu_keys.h"

#include <string.h>

#include <openssl/rsa.h>

#include "tests/unit/support/random_keys.h"

/* How far the first prime is from where the search for it starts. libcrypto
 * takes up to a second for each, and there are dozens in a test that is run
 * with one engine and kernel after the other. Others are looked for. */
static const struct {
    prime_choice choice;
    unsigned distance;
} known[] = {
    {{PRIME_DOWN, 512}, 568},      {{PRIME_DOWN, 515}, 224},
    {{PRIME_DOWN, 600}, 94},       {{PRIME_DOWN, 700}, 1112},
    {{PRIME_DOWN, 999}, 138},      {{PRIME_DOWN, 1000}, 1244},
    {{PRIME_DOWN, 1023}, 360},     {{PRIME_DOWN, 1024}, 104},
    {{PRIME_DOWN, 1035}, 440},     {{PRIME_DOWN, 1347}, 440},
    {{PRIME_DOWN, 1536}, 3452},    {{PRIME_DOWN, 1537}, 174},
    {{PRIME_DOWN, 1555}, 1710},    {{PRIME_DOWN, 2048}, 1556},
    {{PRIME_DOWN, 2070}, 610},     {{PRIME_DOWN, 2075}, 116},
    {{PRIME_UP, 512}, 110},        {{PRIME_UP, 515}, 168},
    {{PRIME_UP, 700}, 1718},       {{PRIME_UP, 1000}, 1238},
    {{PRIME_UP, 1001}, 296},       {{PRIME_UP, 1024}, 1154},
    {{PRIME_UP, 1025}, 642},       {{PRIME_UP, 1035}, 78},
    {{PRIME_UP, 1536}, 698},       {{PRIME_UP, 1555}, 122},
    {{PRIME_UP, 2041}, 260},       {{PRIME_UP, 2047}, 4146},
    {{PRIME_UP, 2048}, 1918},      {{PRIME_ONES, 512}, 198},
    {{PRIME_ONES, 1024}, 336},     {{PRIME_ONES, 1536}, 292},
    {{PRIME_ONES, 2048}, 106},     {{PRIME_ZEROS, 513}, 422},
    {{PRIME_ZEROS, 1000}, 394},    {{PRIME_ZEROS, 1024}, 852},
    {{PRIME_ZEROS, 1536}, 1270},   {{PRIME_STRIPES, 512}, 62},
    {{PRIME_STRIPES, 513}, 162},   {{PRIME_STRIPES, 1023}, 414},
    {{PRIME_STRIPES, 1024}, 372},  {{PRIME_STRIPES, 1536}, 840},
    {{PRIME_STRIPES, 2045}, 3890}, {{PRIME_STRIPES, 2047}, 3934},
    {{PRIME_RANDOM, 509}, 452},    {{PRIME_RANDOM, 510}, 1132},
    {{PRIME_RANDOM, 512}, 1244},   {{PRIME_RANDOM, 514}, 384},
    {{PRIME_RANDOM, 516}, 1392},   {{PRIME_RANDOM, 600}, 46},
    {{PRIME_RANDOM, 1000}, 70},    {{PRIME_RANDOM, 1023}, 338},
    {{PRIME_RANDOM, 1024}, 672},   {{PRIME_RANDOM, 1026}, 164},
    {{PRIME_RANDOM, 1048}, 1062},  {{PRIME_RANDOM, 1347}, 1488},
    {{PRIME_RANDOM, 1500}, 186},   {{PRIME_RANDOM, 1510}, 438},
    {{PRIME_RANDOM, 2000}, 1102},  {{PRIME_RANDOM, 2018}, 1932},
    {{PRIME_RANDOM, 2048}, 2720},  {{PRIME_RANDOM, 2075}, 1360},
};

static unsigned known_distance(const prime_choice *choice)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].choice.pattern == choice->pattern &&
            known[i].choice.bits == choice->bits)
            return known[i].distance;
    return 0;
}

static int start_of(BIGNUM *x, const prime_choice *choice)
{
    const int k = choice->bits;
    random_stream stream = {(uint64_t)k};
    int good = 1;

    BN_zero(x);
    for (int i = 0; good && i < k; i++) {
        int set = choice->pattern == PRIME_DOWN ||
                  (choice->pattern == PRIME_ONES && i >= k / 2) ||
                  (choice->pattern == PRIME_ZEROS && i < k / 2) ||
                  (choice->pattern == PRIME_STRIPES && (k - i) % 2 != 0) ||
                  (choice->pattern == PRIME_RANDOM && random_below(&stream, 2));

        if (set || i == 0 || i == k - 1)
            good = BN_set_bit(x, i);
    }
    return good;
}

/* The next number of this kind that is a prime for which e will do. Should
 * it not be one after all, the engine's check fails and so does the test. */
static int find_prime(BIGNUM *x, const prime_choice *choice, unsigned distance,
                      const BIGNUM *e, BN_CTX *ctx)
{
    const int down =
        choice->pattern == PRIME_DOWN || choice->pattern == PRIME_ZEROS;
    int found = 0, good = start_of(x, choice);
    int is_known;

    if (distance == 0)
        distance = known_distance(choice);
    is_known = distance != 0;
    BN_CTX_start(ctx);
    BIGNUM *less1 = BN_CTX_get(ctx), *gcd = BN_CTX_get(ctx);
    good = good && gcd != NULL &&
           (down ? BN_sub_word(x, distance) : BN_add_word(x, distance));
    while (good && !found) {
        found = is_known ? 1 : BN_check_prime(x, ctx, NULL);
        is_known = 0; /* nothing is, of a next one */
        good = found >= 0 && BN_num_bits(x) == choice->bits;
        /* libcrypto's takes as long as many divisions: for primes alone. */
        if (good && found) {
            good =
                BN_sub(less1, x, BN_value_one()) && BN_gcd(gcd, less1, e, ctx);
            found = BN_is_one(gcd);
        }
        if (good && !found)
            good = down ? BN_sub_word(x, 2) : BN_add_word(x, 2);
    }
    BN_CTX_end(ctx);
    return good && found == 1;
}

int private_key_from_numbers(warprsa_private_key *key,
                             const rsa_numbers *numbers)
{
    BIGNUM *const *v = numbers->value;
    const int prime = WARPRSA_PRIME_BYTES_MAX;

    memset(key, 0, sizeof(*key));
    key->modulus_bytes = (uint32_t)BN_num_bytes(v[NUMBER_N]);
    return BN_bn2binpad(v[NUMBER_N], key->n, sizeof(key->n)) >= 0 &&
           BN_bn2binpad(v[NUMBER_E], key->e, sizeof(key->e)) >= 0 &&
           BN_bn2binpad(v[NUMBER_P], key->p, prime) >= 0 &&
           BN_bn2binpad(v[NUMBER_Q], key->q, prime) >= 0 &&
           BN_bn2binpad(v[NUMBER_DP], key->dp, prime) >= 0 &&
           BN_bn2binpad(v[NUMBER_DQ], key->dq, prime) >= 0 &&
           BN_bn2binpad(v[NUMBER_QINV], key->qinv, prime) >= 0;
}

int made_key_new(made_key *made, const key_recipe *recipe)
{
    return made_key_at(made, recipe, NULL);
}

int made_key_at(made_key *made, const key_recipe *recipe,
                const unsigned *distances)
{
    static const unsigned unknown[2];
    rsa_numbers *numbers = &made->numbers;
    BIGNUM **v = numbers->value;

    if (distances == NULL)
        distances = unknown;
    memset(made, 0, sizeof(*made));
    if (!rsa_numbers_init(numbers))
        return 0;
    if (BN_set_word(v[NUMBER_E], recipe->e) &&
        find_prime(v[NUMBER_P], &recipe->p, distances[0], v[NUMBER_E],
                   numbers->ctx) &&
        find_prime(v[NUMBER_Q], &recipe->q, distances[1], v[NUMBER_E],
                   numbers->ctx) &&
        BN_mul(v[NUMBER_N], v[NUMBER_P], v[NUMBER_Q], numbers->ctx) &&
        rsa_numbers_private_exponent(numbers) && rsa_numbers_crt(numbers) &&
        private_key_from_numbers(&made->key, numbers))
        return 1;
    made_key_free(made);
    return 0;
}

int made_key_random(made_key *made, size_t bits)
{
    EVP_PKEY *pkey = EVP_RSA_gen(bits);
    int good;

    memset(made, 0, sizeof(*made));
    good = pkey != NULL && rsa_numbers_init(&made->numbers) &&
           rsa_numbers_of_key(&made->numbers, pkey) &&
           private_key_from_numbers(&made->key, &made->numbers);
    EVP_PKEY_free(pkey);
    if (!good)
        made_key_free(made);
    return good;
}

void made_key_free(made_key *made)
{
    rsa_numbers_free(&made->numbers);
    memset(made, 0, sizeof(*made));
}

int made_key_message(const made_key *made, BIGNUM *m, random_stream *stream)
{
    uint8_t bytes[WARPRSA_MODULUS_BYTES_MAX + 8];

    random_bytes(stream, bytes, sizeof(bytes));
    return BN_bin2bn(bytes, sizeof(bytes), m) != NULL &&
           BN_nnmod(m, m, made->numbers.value[NUMBER_N], made->numbers.ctx);
}

int made_key_answer(made_key *made, BIGNUM *s, const BIGNUM *m)
{
    BIGNUM **v = made->numbers.value;
    BN_CTX *ctx = made->numbers.ctx;

    BN_CTX_start(ctx);
    BIGNUM *sp = BN_CTX_get(ctx), *sq = BN_CTX_get(ctx);
    const int good = sq != NULL &&
                     BN_mod_exp(sp, m, v[NUMBER_DP], v[NUMBER_P], ctx) &&
                     BN_mod_exp(sq, m, v[NUMBER_DQ], v[NUMBER_Q], ctx) &&
                     BN_mod_sub(sp, sp, sq, v[NUMBER_P], ctx) &&
                     BN_mod_mul(sp, sp, v[NUMBER_QINV], v[NUMBER_P], ctx) &&
                     BN_mul(s, sp, v[NUMBER_Q], ctx) && BN_add(s, s, sq);
    BN_CTX_end(ctx);
    return good;
}

int made_key_accepts(made_key *made, const uint8_t *s, const uint8_t *m)
{
    const int bytes = (int)made->key.modulus_bytes;
    BIGNUM **v = made->numbers.value;
    BN_CTX *ctx = made->numbers.ctx;

    BN_CTX_start(ctx);
    BIGNUM *x = BN_CTX_get(ctx), *expected = BN_CTX_get(ctx);
    const int good = expected != NULL && BN_bin2bn(s, bytes, x) != NULL &&
                     BN_bin2bn(m, bytes, expected) != NULL &&
                     BN_cmp(x, v[NUMBER_N]) < 0 &&
                     BN_mod_exp(x, x, v[NUMBER_E], v[NUMBER_N], ctx) &&
                     BN_cmp(x, expected) == 0;
    BN_CTX_end(ctx);
    return good;
}
