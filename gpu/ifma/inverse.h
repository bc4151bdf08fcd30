/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The inverses of eight blinding factors, each modulo a prime of its own:
 * gpu/arith/short_inverse.h and inverse.h, whose bounds hold here as they are.
 * The division steps, which take most of the time there, are done for eight
 * numbers at once; what surrounds them is done for one after the other.
 */
#ifndef WARPRSA_GPU_IFMA_INVERSE_H
#define WARPRSA_GPU_IFMA_INVERSE_H

#include "gpu/arith/short_inverse.h"
#include "gpu/ifma/vector.h"

/* The transition matrices of 62 division steps, times 2^62. */
typedef struct warprsa_vector_transition {
    warprsa_vector u, v, q, r;
} warprsa_vector_transition;

/* Everything that the inversions compute. SECRET. */
typedef struct warprsa_vector_inversion {
    warprsa_inversion m[WARPRSA_LANES];
    int64_t whole[WARPRSA_LANES][WARPRSA_SIGNED62_PRIME_LIMBS];
    uint64_t inverse[WARPRSA_LANES]; /* 1/r mod 2^64 */
    uint64_t prime[WARPRSA_HALF_SAMPLES];
    warprsa_vector f, g; /* the low words of all lanes */
    warprsa_vector_transition t;
} warprsa_vector_inversion;

/* Exchanges a and b where `swap` is all ones, and negates the new b. */
#define WARPRSA_SWAP_AND_NEGATE(a, b, swap)                                    \
    do {                                                                       \
        const warprsa_vector differ_ = ((a) ^ (b)) & (swap);                   \
                                                                               \
        (a) ^= differ_;                                                        \
        (b) = (((b) ^ differ_) ^ (swap)) - (swap);                             \
    } while (0)

/* 62 division steps on the low words of f and g, of which 62 bits count; delta
 * - 1/2 is passed in and returned. Entries of the matrix stay within 2^62. */
WARPRSA_VECTOR_FN warprsa_vector
warprsa_vector_divsteps(warprsa_vector delta, warprsa_vector f,
                        warprsa_vector g, warprsa_vector_transition *t)
{
    warprsa_vector u = warprsa_broadcast_lane(1), v = {0}, q = {0}, r = u;

    for (int i = 0; i < WARPRSA_SIGNED62_BITS; i++) {
        const warprsa_vector odd = 0 - (g & 1);
        /* Swap if delta > 0 and g is odd: (f, g) becomes (g, -f), and delta
         * becomes 1 - delta. */
        const warprsa_vector swap = odd & ~warprsa_negative(delta);

        delta = (delta ^ swap) + 1;
        WARPRSA_SWAP_AND_NEGATE(f, g, swap);
        WARPRSA_SWAP_AND_NEGATE(u, q, swap);
        WARPRSA_SWAP_AND_NEGATE(v, r, swap);
        g = (g + (f & odd)) >> 1;
        q += u & odd;
        r += v & odd;
        u <<= 1;
        v <<= 1;
    }
    *t = (warprsa_vector_transition){u, v, q, r};
    return delta;
}

/* Limb `index` of a number given in samples. */
static inline int64_t warprsa_limb_of_samples(const uint64_t *sample,
                                              int samples, int index)
{
    uint64_t limb = 0;

    WARPRSA_CUT(limb, index * WARPRSA_SIGNED62_BITS, WARPRSA_SIGNED62_BITS,
                samples, WARPRSA_SAMPLE_BITS, sample);
    return (int64_t)(limb & WARPRSA_SIGNED62_MASK);
}

/* Sample `index` of a non-negative number given in limbs. */
static inline uint64_t warprsa_sample_of_limbs(const int64_t *limb, int limbs,
                                               int index)
{
    uint64_t sample = 0;

    WARPRSA_CUT(sample, index * WARPRSA_SAMPLE_BITS, WARPRSA_SAMPLE_BITS, limbs,
                WARPRSA_SIGNED62_BITS, limb);
    return sample & WARPRSA_SAMPLE_MASK;
}

/* Begins with r, in samples, and its prime, as it is in a prepared key: g =
 * prime / B^limbs mod r. */
static inline void warprsa_begin_inversion(warprsa_vector_inversion *all,
                                           int lane, const uint64_t *r,
                                           const double *prime,
                                           const int samples)
{
    const int limbs = WARPRSA_SIGNED62_PRIME_LIMBS_OF(samples);
    warprsa_inversion *m = &all->m[lane];

    for (int i = 0; i < samples; i++)
        all->prime[i] = warprsa_integer(prime[i]);
    for (int i = 0; i < limbs; i++)
        all->whole[lane][i] = warprsa_limb_of_samples(all->prime, samples, i);
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        m->p[i] = warprsa_limb_of_samples(r, samples, i);
        m->g[i] = 0;
        m->d[i] = 0;
        m->e[i] = i == 0;
    }
    all->inverse[lane] = warprsa_inverse_of_low((uint64_t)m->p[0]);
    for (int i = 0; i < limbs; i++)
        warprsa_step_down(m->g, all->whole[lane][i], m->p,
                          0 - all->inverse[lane]);
    memcpy(m->f, m->p, sizeof(m->f));
}

/* The division steps of all lanes, until g = 0 and f = +-1. */
static inline void warprsa_turn_inversions(warprsa_vector_inversion *all)
{
    const int rounds = (WARPRSA_DIVSTEPS_OF(WARPRSA_BLINDING_BITS) +
                        WARPRSA_SIGNED62_BITS - 1) /
                       WARPRSA_SIGNED62_BITS;
    warprsa_vector delta = {0};

    for (int i = 0; i < rounds; i++) {
        for (int lane = 0; lane < WARPRSA_LANES; lane++) {
            all->f[lane] = (uint64_t)all->m[lane].f[0];
            all->g[lane] = (uint64_t)all->m[lane].g[0];
        }
        delta = warprsa_vector_divsteps(delta, all->f, all->g, &all->t);
        for (int lane = 0; lane < WARPRSA_LANES; lane++) {
            warprsa_inversion *m = &all->m[lane];
            const warprsa_transition t = {
                (int64_t)all->t.u[lane], (int64_t)all->t.v[lane],
                (int64_t)all->t.q[lane], (int64_t)all->t.r[lane]};

            warprsa_apply_modulo(m->d, m->e, &t, m->p, all->inverse[lane]);
            warprsa_apply(m->f, m->g, &t);
        }
    }
}

/* 1/r modulo the prime, into sample i of this lane of to[i]. */
static inline void warprsa_end_inversion(warprsa_vector *to,
                                         warprsa_vector_inversion *all,
                                         int lane, const int samples)
{
    const int limbs = WARPRSA_SIGNED62_PRIME_LIMBS_OF(samples);
    warprsa_inversion *m = &all->m[lane];
    const int64_t sign = m->f[WARPRSA_SIGNED62_LIMBS - 1] >> 63;
    int64_t carry = 0;

    warprsa_adjust(m->d, m->p, m->d[WARPRSA_SIGNED62_LIMBS - 1] >> 63, 0);
    warprsa_adjust(m->d, m->p, 0, sign);
    warprsa_adjust(m->d, m->p, m->d[WARPRSA_SIGNED62_LIMBS - 1] >> 63, 0);
    /* d = B^limbs / prime mod r, and then without B^limbs; e = r - d. */
    for (int i = 0; i < limbs; i++)
        warprsa_step_down(m->d, 0, m->p, 0 - all->inverse[lane]);
    for (int i = 0; i < WARPRSA_SIGNED62_LIMBS; i++) {
        carry += m->p[i] - m->d[i];
        m->e[i] = (int64_t)((uint64_t)carry & WARPRSA_SIGNED62_MASK);
        carry >>= WARPRSA_SIGNED62_BITS;
    }
    warprsa_divide_exactly(all->whole[lane], m->e, m->p, all->inverse[lane],
                           limbs);
    for (int i = 0; i < samples; i++)
        to[i][lane] = warprsa_sample_of_limbs(all->whole[lane], limbs, i);
}

#endif
