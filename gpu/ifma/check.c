/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Checks of results for whoever has them from others: public keys, and which
 * code computes with them. See gpu/engine.h.
 */
#include <stdlib.h>

#include "gpu/arith/prepared_key.h"
#include "gpu/ifma/limbs.h"
#include "gpu/ifma/public_key.h"

warprsa_status warprsa_ifma_public_key_prepare(const warprsa_private_key *key,
                                               warprsa_ifma_public_key **out)
{
    const int size = warprsa_key_class(key);
    warprsa_ifma_public_key *made;
    warprsa_status status;
    int samples;

    *out = NULL;
    if (size < 0 || size >= WARPRSA_CLASS_LARGE)
        return WARPRSA_UNSUPPORTED_KEY;
    samples = 2 * warprsa_shape_of((warprsa_size_class)size).limbs;
    made = calloc(1, sizeof(*made) + 3 * (size_t)samples * sizeof(double));
    if (made == NULL)
        return WARPRSA_NO_MEMORY;
    made->size = (warprsa_size_class)size;
    made->modulus_bytes = key->modulus_bytes;
    for (size_t i = 0; i < sizeof(key->e); i++)
        made->e = made->e << 8 | key->e[i];
    status = warprsa_prepare_modulus(key, samples, made->numbers, &made->n0inv);
    if (status == WARPRSA_OK)
        *out = made;
    else
        free(made);
    return status;
}

warprsa_status warprsa_ifma_public_key_new(const warprsa_private_key *key,
                                           warprsa_ifma_public_key **out)
{
    char why[128];

    *out = NULL;
    if (warprsa_engine_ifma()->count(why, sizeof(why)) == 0)
        return WARPRSA_NO_DEVICE;
    return warprsa_ifma_public_key_prepare(key, out);
}

void warprsa_ifma_public_key_free(warprsa_ifma_public_key *key)
{
    free(key);
}

void warprsa_ifma_check(warprsa_ifma_result *results, size_t count)
{
#ifdef WARPRSA_HAVE_IFMA
    static void (*const of_class[WARPRSA_CLASS_LARGE])(warprsa_ifma_result *,
                                                       size_t) = {
        [WARPRSA_CLASS_1024] = warprsa_ifma_check_20,
        [WARPRSA_CLASS_2048] = warprsa_ifma_check_40,
        [WARPRSA_CLASS_3072] = warprsa_ifma_check_60,
        [WARPRSA_CLASS_4096] = warprsa_ifma_check_80,
    };

    of_class[results[0].key->size](results, count);
#else
    for (size_t i = 0; i < count; i++)
        results[i].is_right = false;
#endif
}
