/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/unit/support/gpu_keys.h"

#include <string.h>

#include "tests/unit/support/random_keys.h"

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

    BN_CTX_start(ctx);
    BIGNUM *less1 = BN_CTX_get(ctx), *gcd = BN_CTX_get(ctx);
    good = good && gcd != NULL &&
           (down ? BN_sub_word(x, distance) : BN_add_word(x, distance));
    while (good && !found) {
        found = distance != 0 ? 1 : BN_check_prime(x, ctx, NULL);
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

void made_key_free(made_key *made)
{
    rsa_numbers_free(&made->numbers);
    memset(made, 0, sizeof(*made));
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
