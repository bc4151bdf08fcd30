/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which keys the engines take, and in which size class they are; see
 * gpu/engine.h. Without an engine, for programs that have none, too.
 */
#include "gpu/engine.h"

#include <openssl/crypto.h>

#include "gpu/arith/octets.h"
#include "gpu/arith/prepared_key.h"

warprsa_shape warprsa_shape_of(warprsa_size_class size)
{
    static const warprsa_shape shapes[WARPRSA_CLASSES] = {
        WARPRSA_SHAPE_1024, WARPRSA_SHAPE_2048, WARPRSA_SHAPE_3072,
        WARPRSA_SHAPE_4096, WARPRSA_SHAPE_6144, WARPRSA_SHAPE_8192};

    return shapes[size];
}

static int is_odd(const uint8_t *bytes, size_t length)
{
    return bytes[length - 1] & 1;
}

/* In a time that does not tell how many of their bytes are equal. */
static int are_equal(const uint8_t *p, const uint8_t *q)
{
    return CRYPTO_memcmp(p, q, WARPRSA_PRIME_BYTES_MAX) == 0;
}

int warprsa_key_class(const warprsa_private_key *key)
{
    unsigned n_bits = warprsa_octets_bits(key->n, sizeof(key->n));
    unsigned e_bits = warprsa_octets_bits(key->e, sizeof(key->e));
    unsigned p_bits = warprsa_octets_bits(key->p, sizeof(key->p));
    unsigned q_bits = warprsa_octets_bits(key->q, sizeof(key->q));
    unsigned prime_bits = p_bits > q_bits ? p_bits : q_bits;

    if (n_bits < WARPRSA_MODULUS_BITS_MIN ||
        n_bits > WARPRSA_MODULUS_BITS_MAX ||
        key->modulus_bytes != (n_bits + 7) / 8 || e_bits < 2 ||
        !is_odd(key->n, sizeof(key->n)) || !is_odd(key->e, sizeof(key->e)) ||
        !is_odd(key->p, sizeof(key->p)) || !is_odd(key->q, sizeof(key->q)) ||
        /* The engines compute x^(dp - 1) by clearing the lowest bit. */
        !is_odd(key->dp, sizeof(key->dp)) ||
        !is_odd(key->dq, sizeof(key->dq)) || p_bits < 2 || q_bits < 2 ||
        are_equal(key->p, key->q) || p_bits + q_bits < n_bits ||
        /* Otherwise s_q could be above n: a root of m that is not reduced. */
        p_bits + q_bits > n_bits + 1)
        return -1;
    for (int size = 0; size < WARPRSA_CLASSES; size++) {
        unsigned most =
            52 * (unsigned)warprsa_shape_of((warprsa_size_class)size).limbs - 5;

        /* Requests of classes that are not large have room for 4096 bits. */
        if (size == WARPRSA_CLASS_4096 && n_bits > 4096)
            continue;
        /* The modulus, too, must fit its 2 * limbs samples with head room. */
        if (prime_bits <= most && n_bits <= 2 * most)
            return size;
    }
    return -1;
}
