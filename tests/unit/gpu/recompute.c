/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a key's numbers give right results, of every size class.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/engine.h"
#include "gpu/known_answer.h"

static uint8_t input[WARPRSA_MODULUS_BYTES_MAX];

/* Byte i is i modulo 256: below the modulus, since the first is 0. */
static int fill_input(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)i;
    return 0;
}

static void right_numbers(void **state)
{
    warprsa_private_key key;

    (void)state;
    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        warprsa_known_answer_key(&key, (warprsa_size_class)size);
        assert_int_equal(warprsa_recompute(&key, input), WARPRSA_OK);
    }
}

static void is_wrong_with(warprsa_private_key *key, uint8_t *number)
{
    number[WARPRSA_PRIME_BYTES_MAX - 1] ^= 2;
    assert_int_equal(warprsa_recompute(key, input), WARPRSA_CHECK_FAILED);
    number[WARPRSA_PRIME_BYTES_MAX - 1] ^= 2;
    assert_int_equal(warprsa_recompute(key, input), WARPRSA_OK);
}

static void wrong_numbers(void **state)
{
    warprsa_private_key key;

    (void)state;
    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        warprsa_known_answer_key(&key, (warprsa_size_class)size);
        is_wrong_with(&key, key.dp);
        is_wrong_with(&key, key.dq);
        is_wrong_with(&key, key.qinv);
        is_wrong_with(&key, key.p);
        is_wrong_with(&key, key.q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_numbers),
        cmocka_unit_test(wrong_numbers),
    };

    return cmocka_run_group_tests(tests, fill_input, NULL);
}
