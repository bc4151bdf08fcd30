/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One RSA private operation, s = m^d mod n, by a group of lanes: bytes in, both
 * halves at once, bytes out, checked. RFC 8017, section 5.1.2 (second form);
 * blinding after Kocher ("Timing Attacks on Implementations of Diffie-Hellman,
 * RSA, DSS, and Other Systems", 1996); the check after Boneh, DeMillo, Lipton
 * ("On the Importance of Checking Cryptographic Protocols for Faults", 1997).
 *
 *   r     random, odd, below the prime
 *   u     = m r^(e-1)       mod each prime (Montgomery form)
 *   x     = u r
 *   y     = x^(dp-1), x^(dq-1)   fixed windows, table read by scanning all of
 *                           it
 *   s_p   = y u             exactly reduced; s_q likewise
 *   s     = s_q + q ((s_p - s_q) / q mod p)       (Garner)
 *   check   s^e mod n = m
 *
 * So blinding is taken off without an inverse: modulo a prime p
 *
 *   x^(d-1) u = m^d r^(e (d - 1) + e - 1) = m^d r^(e d - 1) = m^d
 *
 * since p - 1 divides e d - 1, and r is no multiple of p. For numbers that are
 * no key this is wrong, and the check finds it.
 *
 * The lower threads_per_number lanes of a group work mod p, the upper ones mod
 * q, and all of them together mod n: the same product for a number of twice as
 * many lanes.
 *
 * Nothing here branches on, or addresses memory by, anything but sizes and the
 * public exponent, unless direct_table_reads is set. operation.h has the
 * parameters that many functions share.
 */
#ifndef WARPRSA_GPU_ARITH_PRIVATE_OPERATION_H
#define WARPRSA_GPU_ARITH_PRIVATE_OPERATION_H

#include "gpu/arith/modexp.h"

/*
 * Sample `index` of the blinding factor r. It has 260 random bits or more,
 * or one bit less than the prime if that is fewer, and is the same for both
 * primes, as in libcrypto. 260 bits cannot be guessed, and m r^e fills the
 * modulus whatever the length of r. It is odd, hence not zero.
 */
WARPRSA_FN warprsa_sample_t warprsa_blinding_sample(const uint64_t *random,
                                                    uint32_t prime_bits,
                                                    int index)
{
    int bits_left = (int)prime_bits - 1 - index * WARPRSA_SAMPLE_BITS;
    uint64_t mask = bits_left >= WARPRSA_SAMPLE_BITS ? WARPRSA_SAMPLE_MASK
                    : bits_left > 0                  ? (1ull << bits_left) - 1
                                                     : 0;

    return warprsa_sample((warprsa_random_bits(random, index) & mask) |
                          (index == 0));
}

/*
 * Blinds the exponent of half `which`, by one thread: exponent + k (prime -
 * 1) with random k, which leaves the result as it is since x^(prime - 1) = 1
 * (Kocher), less one: the exponent is odd, since prime - 1 is even and divides
 * e dp - 1. The running sum is a word of k times one of prime - 1, a word of
 * the exponent and the carry: at most (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 -
 * 1.
 */
WARPRSA_FN void warprsa_blind_exponent(const warprsa_operation *op, int which,
                                       const int limbs)
{
    WARPRSA_STAGE(EXPONENT);
    const warprsa_operation_half *half = &op->key->half[which];
    const int words = (WARPRSA_SAMPLE_BITS * limbs + 31) / 32;
    uint32_t *blinded = op->exponent + which * WARPRSA_BLINDED_WORDS;
    uint64_t k = (uint32_t)(op->random[WARPRSA_BLINDING_SAMPLES] >>
                            (WARPRSA_EXPONENT_BLINDING_BITS * which));
    uint64_t sum = 0;

    WARPRSA_ROLLED
    for (int i = 0; i < words; i++) {
        WARPRSA_BOUND("The private operation: Blinded exponents",
                      (unsigned __int128)k * half->p_minus_1[i] +
                              half->exponent[i] + sum <=
                          UINT64_MAX);
        sum += k * half->p_minus_1[i] + half->exponent[i];
        blinded[i] = (uint32_t)sum;
        sum >>= 32;
    }
    blinded[words] = (uint32_t)sum;
    blinded[0] &= ~1u;
}

/* x = y mod each prime, in Montgomery form; y is the result's samples if
 * of_result is set, else the input. With y = y1 R + y0, the products y0 R^2 / R
 * and y1 R^3 / R are below 3P each, and their sum is below 6P. */
WARPRSA_FN void warprsa_split(warprsa_number *x, const warprsa_operation *op,
                              int of_result, const warprsa_modulus *p,
                              const int limbs, const int threads_per_number,
                              const int limbs_per_thread,
                              const int threads_per_request)
{
    WARPRSA_STAGE(SPLIT);
    const warprsa_operation_key *key = op->key;
    const int bytes = (int)key->modulus_bytes;
    warprsa_number part = {0}, constant = {0};

    WARPRSA_ROLLED
    for (int high = 0; high < 2; high++) {
        WARPRSA_EACH_LANE (k, threads_per_request) {
            int first = (warprsa_lane(k, threads_per_request) &
                         (threads_per_number - 1)) *
                        limbs_per_thread;

            WARPRSA_UNROLL
            for (int i = 0; i < limbs_per_thread; i++) {
                int at = high * limbs + first + i;

                part.of[k][i] =
                    first + i >= limbs ? 0
                    : of_result        ? warprsa_sample(op->result[at])
                                : warprsa_sample_of_bytes(op->input, bytes, at);
            }
        }
        warprsa_load(&constant, high ? key->half[0].r3 : key->half[0].r2,
                     high ? key->half[1].r3 : key->half[1].r2, limbs,
                     threads_per_number, limbs_per_thread, threads_per_request);
        warprsa_mont_mul(&part, &part, &constant, p, limbs, threads_per_number,
                         limbs_per_thread, threads_per_request);
        if (high)
            warprsa_add(x, x, &part, threads_per_number, limbs_per_thread,
                        threads_per_request);
        else
            *x = part;
    }
}

/* Loads the modulus of each half of the lanes: `lower` and `upper` say which
 * prime that is. */
WARPRSA_FN void
warprsa_load_primes(warprsa_modulus *p, const warprsa_operation_half *lower,
                    const warprsa_operation_half *upper, const int limbs,
                    const int threads_per_number, const int limbs_per_thread,
                    const int threads_per_request)
{
    warprsa_load(&p->p, lower->modulus, upper->modulus, limbs,
                 threads_per_number, limbs_per_thread, threads_per_request);
#ifndef WARPRSA_INT32
    warprsa_load(&p->inv_2_52, lower->inv_2_52, upper->inv_2_52, limbs,
                 threads_per_number, limbs_per_thread, threads_per_request);
#endif
    WARPRSA_EACH_LANE (k, threads_per_request) {
        p->n0inv[k] = warprsa_lane(k, threads_per_request) >= threads_per_number
                          ? upper->n0inv
                          : lower->n0inv;
    }
}

/* The same for an operation's products; in block arithmetic these need the
 * constants in the exchange buffer. */
WARPRSA_FN void
warprsa_use_primes(warprsa_modulus *p, const warprsa_operation *op,
                   const warprsa_operation_half *lower,
                   const warprsa_operation_half *upper, const int limbs,
                   const int threads_per_number, const int limbs_per_thread,
                   const int threads_per_request)
{
    warprsa_load_primes(p, lower, upper, limbs, threads_per_number,
                        limbs_per_thread, threads_per_request);
#ifdef WARPRSA_BLOCK_ARITH
    warprsa_number inv_2_52 = {0}, n0inv = {0};

    p->exchange = op->exchange;
    warprsa_load(&inv_2_52, lower->block_inv_2_52, upper->block_inv_2_52, limbs,
                 threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_load(&n0inv, lower->block_n0inv, upper->block_n0inv,
                 WARPRSA_BLOCK_OF(limbs), threads_per_number, limbs_per_thread,
                 threads_per_request);
    warprsa_block_put_modulus(&p->p, &inv_2_52, &n0inv, p, threads_per_number,
                              limbs_per_thread, threads_per_request);
#else
    (void)op;
#endif
}

/* Loads n, over all lanes. */
WARPRSA_FN void warprsa_load_modulus(warprsa_modulus *n,
                                     const warprsa_operation_key *key,
                                     const int limbs,
                                     const int limbs_per_thread,
                                     const int threads_per_request)
{
    warprsa_load(&n->p, key->modulus, key->modulus, 2 * limbs,
                 threads_per_request, limbs_per_thread, threads_per_request);
#ifndef WARPRSA_INT32
    warprsa_load(&n->inv_2_52, key->inv_2_52, key->inv_2_52, 2 * limbs,
                 threads_per_request, limbs_per_thread, threads_per_request);
#endif
    WARPRSA_EACH_LANE (k, threads_per_request) {
        n->n0inv[k] = key->n0inv;
    }
}

/* Loads the blinding factor r of each half. */
WARPRSA_FN void
warprsa_load_blinding(warprsa_number *r, const warprsa_operation *op,
                      const int limbs, const int threads_per_number,
                      const int limbs_per_thread, const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int which = warprsa_lane(k, threads_per_request) >= threads_per_number;
        int first =
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) *
            limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            r->of[k][i] =
                first + i < limbs
                    ? warprsa_blinding_sample(
                          op->random, op->key->half[which].bits, first + i)
                    : 0;
    }
}

/*
 * First stage: x = u r and one = R mod p, both in Montgomery form, likewise mod
 * q. Loads the moduli into p, and stores u, not in Montgomery form, for
 * warprsa_unblind().
 *
 * The random number stands for r in Montgomery form, without a product: r / R
 * is as random as r is.
 */
WARPRSA_FN void warprsa_blind(warprsa_number *x, warprsa_number *one,
                              warprsa_modulus *p, const warprsa_operation *op,
                              const int limbs, const int threads_per_number,
                              const int limbs_per_thread)
{
    WARPRSA_STAGE(BLINDING);
    const int threads_per_request = 2 * threads_per_number;
    const warprsa_operation_key *key = op->key;
    warprsa_number r = {0}, u = {0};

    warprsa_use_primes(p, op, &key->half[0], &key->half[1], limbs,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_load(&r, key->half[0].r2, key->half[1].r2, limbs,
                 threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_set_one(one, threads_per_number, limbs_per_thread,
                    threads_per_request);
    warprsa_mont_mul(one, one, &r, p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_load_blinding(&r, op, limbs, threads_per_number, limbs_per_thread,
                          threads_per_request);
    warprsa_public_modexp(&u, &r, one, key->e - 1, p, limbs, threads_per_number,
                          limbs_per_thread, threads_per_request);
    warprsa_split(x, op, 0, p, limbs, threads_per_number, limbs_per_thread,
                  threads_per_request);
    warprsa_mont_mul(&u, x, &u, p, limbs, threads_per_number, limbs_per_thread,
                     threads_per_request);
    warprsa_mont_mul(x, &u, &r, p, limbs, threads_per_number, limbs_per_thread,
                     threads_per_request);
    warprsa_set_one(&r, threads_per_number, limbs_per_thread,
                    threads_per_request);
    warprsa_mont_mul(&u, &u, &r, p, limbs, threads_per_number, limbs_per_thread,
                     threads_per_request);
    warprsa_store(&u, op->unblinding, op->unblinding + WARPRSA_HALF_LIMBS_MAX,
                  limbs, threads_per_number, limbs_per_thread,
                  threads_per_request);
}

#ifndef WARPRSA_BLOCK_ARITH
/* First and second stage: x = (m r^e)^(dp-1) mod p, likewise mod q, in
 * Montgomery form. The blinded exponents must be ready. */
WARPRSA_FN void warprsa_blind_and_modexp(warprsa_number *x,
                                         const warprsa_operation *op,
                                         const int limbs,
                                         const int threads_per_number,
                                         const int limbs_per_thread)
{
    warprsa_modulus p;
    warprsa_number one;

    warprsa_blind(x, &one, &p, op, limbs, threads_per_number, limbs_per_thread);
    warprsa_secret_modexp(x, &one, op, &p, limbs, threads_per_number,
                          limbs_per_thread, 2 * threads_per_number);
}
#endif

/* Begins the third stage: x = m^dp mod p, m^dq mod q, exactly reduced. u is not
 * in Montgomery form, so that the product takes x out of it, too. */
WARPRSA_FN void warprsa_unblind(warprsa_number *x, const warprsa_operation *op,
                                const int limbs, const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
    WARPRSA_STAGE(UNBLINDING);
    const warprsa_operation_key *key = op->key;
    warprsa_modulus p;
    warprsa_number u = {0};

    warprsa_use_primes(&p, op, &key->half[0], &key->half[1], limbs,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_load(&u, op->unblinding, op->unblinding + WARPRSA_HALF_LIMBS_MAX,
                 limbs, threads_per_number, limbs_per_thread,
                 threads_per_request);
    warprsa_mont_mul(x, x, &u, &p, limbs, threads_per_number, limbs_per_thread,
                     threads_per_request);
    warprsa_reduce(x, x, &p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
}

/* Gives both halves of the lanes the lower lanes' number (from = 0), or the
 * upper lanes' (from = 1). */
WARPRSA_FN void warprsa_broadcast_half(warprsa_number *to,
                                       const warprsa_number *x, int from,
                                       const int threads_per_number,
                                       const int limbs_per_thread,
                                       const int threads_per_request)
{
    WARPRSA_UNROLL
    for (int i = 0; i < limbs_per_thread; i++) {
        uint64_t own[WARPRSA_LANES_EMULATED], other[WARPRSA_LANES_EMULATED];

        WARPRSA_EACH_LANE (k, threads_per_request) {
            own[k] = warprsa_bits(x->of[k][i]);
        }
        warprsa_rotate(other, own, threads_per_number, threads_per_request,
                       threads_per_request);
        WARPRSA_EACH_LANE (k, threads_per_request) {
            int upper =
                warprsa_lane(k, threads_per_request) >= threads_per_number;

            to->of[k][i] = warprsa_from_bits(upper == from ? own[k] : other[k]);
        }
    }
}

/* Garner's recombination: s = s_q + q h with h = (s_p - s_q)/q mod p. The lanes
 * of q do the same work mod p; their result is not read. Then mod n: the
 * product of h and q R is q h, or one or two n more, and q h + s_q < n, so that
 * one exact reduction ends it. */
WARPRSA_FN void warprsa_recombine(warprsa_number *s,
                                  const warprsa_operation *op,
                                  const warprsa_modulus *n, const int limbs,
                                  const int threads_per_number,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    WARPRSA_STAGE(RECOMBINATION);
    const warprsa_operation_key *key = op->key;
    warprsa_modulus p;
    warprsa_number qinv, sp, sq;
    int64_t over[WARPRSA_LANES_EMULATED];

    warprsa_use_primes(&p, op, &key->half[0], &key->half[0], limbs,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_load(&qinv, key->qinv_r, key->qinv_r, limbs, threads_per_number,
                 limbs_per_thread, threads_per_request);
    warprsa_broadcast_half(&sp, s, 0, threads_per_number, limbs_per_thread,
                           threads_per_request);
    warprsa_broadcast_half(&sq, s, 1, threads_per_number, limbs_per_thread,
                           threads_per_request);
    warprsa_mont_mul(&sp, &sp, &qinv, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_mont_mul(s, &sq, &qinv, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_subtract(&sp, &sp, s, 1, over, threads_per_number, limbs_per_thread,
                     threads_per_request);
    warprsa_add_if_negative(&sp, &sp, &p.p, 3, over, threads_per_number,
                            limbs_per_thread, threads_per_request);
    warprsa_reduce(&sp, &sp, &p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
    /* Make h and s_q numbers over all lanes: the upper lanes hold zero. */
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int upper = warprsa_lane(k, threads_per_request) >= threads_per_number;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++) {
            sp.of[k][i] = upper ? 0 : sp.of[k][i];
            sq.of[k][i] = upper ? 0 : sq.of[k][i];
        }
    }
    warprsa_load(&qinv, key->q_r, key->q_r, 2 * limbs, threads_per_request,
                 limbs_per_thread, threads_per_request);
    warprsa_mont_mul(s, &sp, &qinv, n, 2 * limbs, threads_per_request,
                     limbs_per_thread, threads_per_request);
    warprsa_add(s, s, &sq, threads_per_request, limbs_per_thread,
                threads_per_request);
    warprsa_reduce(s, s, &n->p, threads_per_request, limbs_per_thread,
                   threads_per_request);
}

/* Stores s in memory as integers, one for each sample, for warprsa_split() and
 * warprsa_put_bytes(). */
WARPRSA_FN void warprsa_put_result(const warprsa_number *s,
                                   const warprsa_operation *op,
                                   const int limbs_per_thread,
                                   const int threads_per_request)
{
    WARPRSA_STAGE(OUTPUT);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int first = warprsa_lane(k, threads_per_request) * limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            if (threads_per_request * limbs_per_thread <=
                    WARPRSA_RESULT_SAMPLES ||
                first + i < WARPRSA_RESULT_SAMPLES)
                op->result[first + i] = (warprsa_sample_bits_t)s->of[k][i];
    }
    warprsa_sync_lanes();
}

/* Returns WARPRSA_OK in every lane if s^e mod n is the input, where s is the
 * result in memory that will be released. Comparing mod p and mod q is
 * comparing mod n, by the Chinese remainder theorem, for half the work. */
WARPRSA_FN uint32_t warprsa_check(const warprsa_operation *op, const int limbs,
                                  const int threads_per_number,
                                  const int limbs_per_thread)
{
    WARPRSA_STAGE(CHECK);
    const int threads_per_request = 2 * threads_per_number;
    const warprsa_operation_key *key = op->key;
    warprsa_modulus p;
    warprsa_number s = {0}, one = {0}, power = {0}, input = {0};
    uint32_t differs[WARPRSA_LANES_EMULATED];

    warprsa_use_primes(&p, op, &key->half[0], &key->half[1], limbs,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_load(&s, key->half[0].r2, key->half[1].r2, limbs,
                 threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_set_one(&one, threads_per_number, limbs_per_thread,
                    threads_per_request);
    warprsa_mont_mul(&one, &one, &s, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    /* Both are below 6P; a product with R mod p brings them below 3P. */
    warprsa_split(&s, op, 1, &p, limbs, threads_per_number, limbs_per_thread,
                  threads_per_request);
    warprsa_split(&input, op, 0, &p, limbs, threads_per_number,
                  limbs_per_thread, threads_per_request);
    warprsa_mont_mul(&s, &s, &one, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_mont_mul(&input, &input, &one, &p, limbs, threads_per_number,
                     limbs_per_thread, threads_per_request);
    warprsa_public_modexp(&power, &s, &one, key->e, &p, limbs,
                          threads_per_number, limbs_per_thread,
                          threads_per_request);
    warprsa_reduce(&power, &power, &p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
    warprsa_reduce(&input, &input, &p.p, threads_per_number, limbs_per_thread,
                   threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        differs[k] = 0;
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            differs[k] |= power.of[k][i] != input.of[k][i];
    }
    return warprsa_any_in_group(differs, threads_per_request) != 0
               ? WARPRSA_CHECK_FAILED
               : WARPRSA_OK;
}

/* Writes the result as bytes, and the status. The engine releases the bytes
 * only if the status is WARPRSA_OK. */
WARPRSA_FN void warprsa_put_bytes(const warprsa_operation *op, uint32_t status,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    WARPRSA_STAGE(OUTPUT);
    const int length = (int)op->key->modulus_bytes;
    const int samples =
        threads_per_request * limbs_per_thread < WARPRSA_RESULT_SAMPLES
            ? threads_per_request * limbs_per_thread
            : WARPRSA_RESULT_SAMPLES;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_ROLLED
        for (int at = warprsa_lane(k, threads_per_request); at < length;
             at += threads_per_request)
            op->output[length - 1 - at] =
                warprsa_byte_of_samples(op->result, samples, at);
        if (warprsa_lane(k, threads_per_request) == 0)
            *op->status = status;
    }
}

/* Third stage: takes x of the second stage; writes result, status and bytes. */
WARPRSA_FN void warprsa_unblind_and_recombine(warprsa_number *x,
                                              const warprsa_operation *op,
                                              const int limbs,
                                              const int threads_per_number,
                                              const int limbs_per_thread)
{
    const int threads_per_request = 2 * threads_per_number;
    warprsa_modulus n;
    uint32_t status;

    warprsa_unblind(x, op, limbs, threads_per_number, limbs_per_thread,
                    threads_per_request);
    warprsa_load_modulus(&n, op->key, limbs, limbs_per_thread,
                         threads_per_request);
    warprsa_recombine(x, op, &n, limbs, threads_per_number, limbs_per_thread,
                      threads_per_request);
    warprsa_put_result(x, op, limbs_per_thread, threads_per_request);
    status = warprsa_check(op, limbs, threads_per_number, limbs_per_thread);
    warprsa_put_bytes(op, status, limbs_per_thread, threads_per_request);
}

#endif
