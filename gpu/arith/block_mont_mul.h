/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The Montgomery product for few requests, where what a row waits for counts
 * and not how much it computes. gpu/arith/wide_sample.h divides by 2^52 after every
 * row, and each row waits for the lowest sample of the one before. Here that
 * is done once in `block` rows, B in what follows:
 *
 *   S = sum of B rows t_j a                   (columns, carries unresolved)
 *   x = S mod 2^(52 B), in samples
 *   S = (S - x) / 2^(52 B) + x D              D = 2^(-52 B) mod P
 *
 * and in the last block, instead of the last line, with I = -1/P,
 *
 *   q = x I mod 2^(52 B),   S = (S + q P) / 2^(52 B)
 *
 * The rows of the block to come need nothing of x and go on meanwhile.
 *
 * Columns stay where they are: place c of a number's width * L places holds
 * column c of the sum, and once that is cut off, column c + width L. What is
 * multiplied moves instead: each lane reads the samples that its columns need
 * from an array in the request's room, periodic in the places, where a number
 * of `rows` samples is followed by zeros (a "window"). A block makes columns up
 * to rows + B from its lowest, hence rows + B < width L. Blocks begin and end
 * with a lane. Where they want more rows than there are samples of t, the first
 * ones, WARPRSA_BLOCK_ZEROS(rows), are of samples 0: of t times a power of
 * 2^52, by which more is divided then.
 *
 * Samples are signed: what a lane passes on at a cut are the carries of its
 * columns as they stand, all lanes at once, so that a sample may leave
 * [-2^51, 2^51) by the carry that enters it, below 2^7:
 *
 *   |sample| <= 2^51 + 2^7,  |t v| < 2^102 + 2^60
 *
 * and 1.5 2^104 + t v stays between 2^104 and 2^105, where a double counts by
 * 2^52. A column takes at most 2 rows high halves, each below 2^51 in absolute
 * value, and as many low ones in [0, 2^52): within 2^59 for 40 rows.
 *
 * Bounds. 32P < R = 2^(52 rows); |x| and |q| are at most 2^(52 B) (1/2 +
 * 2^-44). x D is cut by 2^(52 B) in the block after it, earlier ones' by more,
 * so that |a b / R - result| is below 1.01 P, and 0 <= a < R,  0 <= b < P gives
 * |result| < 2.01P  (unreduced input) |a|, |b| < 2.01P            gives less
 * than 1.14P   (inside a power) |a| < 10P, |b| < 2.01P      gives less
 * than 1.64P   (sums of products) Numbers below zero are those of
 * warprsa_mont_mul() alone; gpu/arith/exact_reduction.h knows.
 */
#ifndef WARPRSA_GPU_ARITH_BLOCK_MONT_MUL_H
#define WARPRSA_GPU_ARITH_BLOCK_MONT_MUL_H

#include "gpu/arith/wide_sample.h"

/* A half's arrays in the room of its request, each of a number's places or,
 * for the windows, of twice as many: sample i of lane k is at 2 width i + k and
 * again at 2 width i + width + k. The rest are in order. */
enum {
    WARPRSA_EXCHANGE_A = 0, /* window: the one that is multiplied */
    WARPRSA_EXCHANGE_P = 2, /* windows of P, D and I */
    WARPRSA_EXCHANGE_INV_2_52 = 4,
    WARPRSA_EXCHANGE_N0INV = 6,
    WARPRSA_EXCHANGE_A_MULTIPLIER = 8, /* A once more */
    WARPRSA_EXCHANGE_B_MULTIPLIER = 9, /* what it is multiplied by */
    WARPRSA_EXCHANGE_CUT = 10,         /* x, q */
    WARPRSA_EXCHANGE_ARRAYS = 11,
};

/* Doubles of a request's room. */
#define WARPRSA_EXCHANGE_DOUBLES(threads_per_number, limbs_per_thread)         \
    (2 * WARPRSA_EXCHANGE_ARRAYS * (threads_per_number) * (limbs_per_thread))

#ifdef __CUDACC__
extern __shared__ __align__(16) double warprsa_shared[];
#endif

#define WARPRSA_SIGNED_HIGH 0x1.8p104
#define WARPRSA_SIGNED_LOW  0x1p52
#define WARPRSA_SAMPLE_HALF (1ull << (WARPRSA_SAMPLE_BITS - 1))

/* Array `which` of the lane's half. */
WARPRSA_FN double *warprsa_exchange_array(warprsa_exchange exchange, int k,
                                          int which,
                                          const int threads_per_number,
                                          const int limbs_per_thread,
                                          const int threads_per_request)
{
    int half = warprsa_lane(k, threads_per_request) / threads_per_number;
    int at = (half * WARPRSA_EXCHANGE_ARRAYS + which) * threads_per_number *
             limbs_per_thread;

#ifdef __CUDACC__
    return warprsa_shared + exchange + at;
#else
    return exchange + at;
#endif
}

WARPRSA_FN void warprsa_put_window(const warprsa_number *x,
                                   warprsa_exchange exchange, int which,
                                   const int threads_per_number,
                                   const int limbs_per_thread,
                                   const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        double *to =
            warprsa_exchange_array(exchange, k, which, threads_per_number,
                                   limbs_per_thread, threads_per_request) +
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1));

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++) {
            to[2 * threads_per_number * i] = x->of[k][i];
            to[2 * threads_per_number * i + threads_per_number] = x->of[k][i];
        }
    }
}

WARPRSA_FN void warprsa_put_samples(const warprsa_number *x,
                                    warprsa_exchange exchange, int which,
                                    const int threads_per_number,
                                    const int limbs_per_thread,
                                    const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        double *to =
            warprsa_exchange_array(exchange, k, which, threads_per_number,
                                   limbs_per_thread, threads_per_request) +
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) *
                limbs_per_thread;

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            to[i] = x->of[k][i];
    }
}

/* Where sample i of `lane` of a number is that multiplies: behind the zeros,
 * which are its own uppermost samples. */
WARPRSA_FN int warprsa_multiplier_at(int lane, int i, const int limbs,
                                     const int threads_per_number,
                                     const int limbs_per_thread)
{
    int at = lane * limbs_per_thread + i + WARPRSA_BLOCK_ZEROS(limbs);

    return at < threads_per_number * limbs_per_thread
               ? at
               : at - threads_per_number * limbs_per_thread;
}

/* Puts a number that multiplies. */
WARPRSA_FN void warprsa_put_multiplier(const warprsa_number *x,
                                       warprsa_exchange exchange, int which,
                                       const int limbs,
                                       const int threads_per_number,
                                       const int limbs_per_thread,
                                       const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        double *to =
            warprsa_exchange_array(exchange, k, which, threads_per_number,
                                   limbs_per_thread, threads_per_request);
        int lane =
            warprsa_lane(k, threads_per_request) & (threads_per_number - 1);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            to[warprsa_multiplier_at(lane, i, limbs, threads_per_number,
                                     limbs_per_thread)] = x->of[k][i];
    }
}

/* What `rows` rows bring into column i of a lane besides the halves of their
 * products, the other way round: the exponents' fields. */
WARPRSA_FN uint64_t warprsa_signed_start(int limbs, int i,
                                         const int limbs_per_thread)
{
    uint64_t high = i > 0 ? 0x4678000000000000ull : 0;
    uint64_t low = i < limbs_per_thread ? 0x4330000000000000ull : 0;

    return 0 - (uint64_t)limbs * (high + low);
}

/* warprsa_row() for signed samples. */
WARPRSA_FN void warprsa_signed_row(uint64_t *s, double t, const double *v,
                                   const int limbs_per_thread)
{
    uint64_t carried = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs_per_thread; i++) {
        double high = warprsa_fma_rz(t, v[i], WARPRSA_SIGNED_HIGH);
        double low = warprsa_fma_rz(
            t, v[i], (WARPRSA_SIGNED_HIGH + WARPRSA_SIGNED_LOW) - high);

        s[i] += warprsa_bits(low) + carried;
        carried = warprsa_bits(high);
    }
    s[limbs_per_thread] += carried;
}

/* The sample `down` places below the lane's first in a window; `down` may be
 * negative. */
WARPRSA_FN double warprsa_window_at(const double *window, int down,
                                    const int threads_per_number,
                                    const int limbs_per_thread)
{
    const int lanes = down > 0
                          ? (down + limbs_per_thread - 1) / limbs_per_thread
                          : -(-down / limbs_per_thread);

    return window[2 * threads_per_number * (lanes * limbs_per_thread - down) +
                  threads_per_number - lanes];
}

/* Adds the `count` rows that the samples at `multiplier + base` make with a
 * window whose first sample is at place `shift`, a lane's first. */
WARPRSA_FN void
warprsa_block_rows(warprsa_columns *s, warprsa_exchange exchange,
                   int multiplier, int base, int window, int shift,
                   const int count, const int threads_per_number,
                   const int limbs_per_thread, const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        const double *t =
            warprsa_exchange_array(exchange, k, multiplier, threads_per_number,
                                   limbs_per_thread, threads_per_request) +
            base;
        const double *w =
            warprsa_exchange_array(exchange, k, window, threads_per_number,
                                   limbs_per_thread, threads_per_request) +
            (warprsa_lane(k, threads_per_request) & (threads_per_number - 1)) -
            shift / limbs_per_thread;
        double v[WARPRSA_LIMBS_PER_THREAD_MAX];

        WARPRSA_UNROLL
        for (int i = 1; i < limbs_per_thread; i++)
            v[i - 1] =
                warprsa_window_at(w, -i, threads_per_number, limbs_per_thread);
        WARPRSA_UNROLL
        for (int j = 0; j < count; j++) {
            WARPRSA_UNROLL
            for (int i = limbs_per_thread - 1; i > 0; i--)
                v[i] = v[i - 1];
            v[0] =
                warprsa_window_at(w, j, threads_per_number, limbs_per_thread);
            warprsa_signed_row(s->of[k], t[j], v, limbs_per_thread);
        }
    }
}

/* 2^52 and the lowest 52 bits of a column. */
WARPRSA_FN double warprsa_biased_sample(uint64_t column)
{
    return warprsa_from_bits((column & WARPRSA_SAMPLE_MASK) |
                             0x4330000000000000ull);
}

/* Columns, 2^51 above what they stand for, to samples; in[k] comes from the
 * lane below. What leaves the lane's last column has gone already. A sample as
 * it is cut, less 2^51, plus a carry may exceed what the bits behind 2^52 hold,
 * so the carry is added as a double of its own. */
WARPRSA_FN void warprsa_signed_samples(warprsa_number *x,
                                       const warprsa_columns *c,
                                       const uint64_t *in,
                                       const int limbs_per_thread,
                                       const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        const uint64_t *s = c->of[k];
        uint64_t carry = in[k];

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread - 1; i++) {
            uint64_t column = s[i] + carry;

            carry = (uint64_t)((int64_t)column >> WARPRSA_SAMPLE_BITS);
            x->of[k][i] = warprsa_biased_sample(column) - (0x1p52 + 0x1p51);
        }
        x->of[k][limbs_per_thread - 1] =
            (warprsa_biased_sample(s[limbs_per_thread - 1]) -
             (0x1p53 + 0x1p51 + 0x1p31)) +
            warprsa_from_bits(0x4330000000000000ull |
                              ((uint32_t)carry ^ 0x80000000u));
    }
}

/* Whether the lane's columns are those of the block that begins at `base`. */
WARPRSA_FN int warprsa_in_block(int k, int base, const int block,
                                const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
    unsigned lane = (unsigned)warprsa_lane(k, threads_per_request) &
                    (unsigned)(threads_per_number - 1);

    return lane - (unsigned)(base / limbs_per_thread) <
           (unsigned)(block / limbs_per_thread);
}

/* The carry that each lane, or each lane of the block at `base`, gives to the
 * one above; columns are 2^51 above what they stand for. */
WARPRSA_FN void warprsa_pass_carries(uint64_t *up, const warprsa_columns *c,
                                     int all, int base, const int block,
                                     const int threads_per_number,
                                     const int limbs_per_thread,
                                     const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        uint64_t carry = c->of[k][limbs_per_thread] +
                         (uint64_t)((int64_t)c->of[k][limbs_per_thread - 1] >>
                                    WARPRSA_SAMPLE_BITS);

        up[k] = all || warprsa_in_block(k, base, block, threads_per_number,
                                        limbs_per_thread, threads_per_request)
                    ? carry
                    : 0;
    }
    warprsa_rotate(up, up, -1, threads_per_number, threads_per_request);
}

/* The columns of the block at `base`, of which `left` rows are still to come
 * for the others; those begin again, with nothing but the exponents of what
 * is to come. */
WARPRSA_FN void warprsa_cut_block(warprsa_columns *c, warprsa_columns *s,
                                  int left, int base, const int block,
                                  const int threads_per_number,
                                  const int limbs_per_thread,
                                  const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int in = warprsa_in_block(k, base, block, threads_per_number,
                                  limbs_per_thread, threads_per_request);

        WARPRSA_UNROLL
        for (int i = 0; i <= limbs_per_thread; i++) {
            uint64_t start = warprsa_signed_start(left, i, limbs_per_thread);

            c->of[k][i] = s->of[k][i] - start +
                          (i < limbs_per_thread ? WARPRSA_SAMPLE_HALF : 0);
            s->of[k][i] = in ? start : s->of[k][i];
        }
    }
}

/* A block that is not the last, and the rows of t a for the block after it. */
WARPRSA_FN void warprsa_block_reduce(warprsa_columns *s,
                                     warprsa_exchange exchange, int multiplier,
                                     int base, const int limbs, const int block,
                                     const int threads_per_number,
                                     const int limbs_per_thread,
                                     const int threads_per_request)
{
    warprsa_columns c;
    warprsa_number x;
    uint64_t in[WARPRSA_LANES_EMULATED];

    warprsa_cut_block(&c, s, 2 * (limbs - base) - block, base, block,
                      threads_per_number, limbs_per_thread,
                      threads_per_request);
    warprsa_pass_carries(in, &c, 0, base, block, threads_per_number,
                         limbs_per_thread, threads_per_request);
    warprsa_block_rows(
        s, exchange, multiplier, base + block, WARPRSA_EXCHANGE_A, base + block,
        block, threads_per_number, limbs_per_thread, threads_per_request);
    warprsa_signed_samples(&x, &c, in, limbs_per_thread, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        s->of[k][0] += warprsa_in_block(k, base, block, threads_per_number,
                                        limbs_per_thread, threads_per_request)
                           ? 0
                           : in[k];
    }
    warprsa_put_samples(&x, exchange, WARPRSA_EXCHANGE_CUT, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_sync_lanes();
    warprsa_block_rows(s, exchange, WARPRSA_EXCHANGE_CUT, base,
                       WARPRSA_EXCHANGE_INV_2_52, base + block, block,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_sync_lanes();
}

/* The last block: q P makes its columns a multiple of 2^(52 B). */
WARPRSA_FN void warprsa_block_reduce_last(warprsa_columns *s,
                                          warprsa_exchange exchange, int base,
                                          const int block,
                                          const int threads_per_number,
                                          const int limbs_per_thread,
                                          const int threads_per_request)
{
    warprsa_columns c, unused = *s;
    warprsa_number x;
    uint64_t in[WARPRSA_LANES_EMULATED];

    warprsa_cut_block(&c, &unused, block, base, block, threads_per_number,
                      limbs_per_thread, threads_per_request);
    warprsa_pass_carries(in, &c, 0, base, block, threads_per_number,
                         limbs_per_thread, threads_per_request);
    warprsa_signed_samples(&x, &c, in, limbs_per_thread, threads_per_request);
    warprsa_put_samples(&x, exchange, WARPRSA_EXCHANGE_CUT, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_sync_lanes();
    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i <= limbs_per_thread; i++)
            c.of[k][i] = warprsa_signed_start(block, i, limbs_per_thread) +
                         (i < limbs_per_thread ? WARPRSA_SAMPLE_HALF : 0);
    }
    warprsa_block_rows(&c, exchange, WARPRSA_EXCHANGE_CUT, base,
                       WARPRSA_EXCHANGE_N0INV, base, block, threads_per_number,
                       limbs_per_thread, threads_per_request);
    warprsa_sync_lanes();
    warprsa_pass_carries(in, &c, 0, base, block, threads_per_number,
                         limbs_per_thread, threads_per_request);
    warprsa_signed_samples(&x, &c, in, limbs_per_thread, threads_per_request);
    warprsa_put_samples(&x, exchange, WARPRSA_EXCHANGE_CUT, threads_per_number,
                        limbs_per_thread, threads_per_request);
    warprsa_sync_lanes();
    warprsa_block_rows(s, exchange, WARPRSA_EXCHANGE_CUT, base,
                       WARPRSA_EXCHANGE_P, base, block, threads_per_number,
                       limbs_per_thread, threads_per_request);
}

/*
 * The result, into the room as A. What the last block carries out is exact
 * without its lower columns: with them it would be a multiple of 2^52 of its
 * top column, which they change by less than 2^8, so the multiple nearest to
 * the top column alone is the one. Its own columns are zero then.
 */
WARPRSA_FN void warprsa_block_result(warprsa_columns *s,
                                     warprsa_exchange exchange, const int limbs,
                                     const int block,
                                     const int threads_per_number,
                                     const int limbs_per_thread,
                                     const int threads_per_request)
{
    const int all = limbs + WARPRSA_BLOCK_ZEROS(limbs), base = all - block;
    warprsa_number x, own;
    uint64_t in[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            s->of[k][i] += WARPRSA_SAMPLE_HALF;
    }
    warprsa_pass_carries(in, s, 1, base, block, threads_per_number,
                         limbs_per_thread, threads_per_request);
    warprsa_signed_samples(&x, s, in, limbs_per_thread, threads_per_request);
    WARPRSA_EACH_LANE (k, threads_per_request) {
        int lane =
            (warprsa_lane(k, threads_per_request) - all / limbs_per_thread) &
            (threads_per_number - 1);
        int in_block = warprsa_in_block(k, base, block, threads_per_number,
                                        limbs_per_thread, threads_per_request);
        double *window = warprsa_exchange_array(
            exchange, k, WARPRSA_EXCHANGE_A, threads_per_number,
            limbs_per_thread, threads_per_request);
        double *plain = warprsa_exchange_array(
            exchange, k, WARPRSA_EXCHANGE_A_MULTIPLIER, threads_per_number,
            limbs_per_thread, threads_per_request);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++) {
            own.of[k][i] = in_block ? 0 : x.of[k][i];
            window[2 * threads_per_number * i + lane] = own.of[k][i];
            window[2 * threads_per_number * i + threads_per_number + lane] =
                own.of[k][i];
            plain[warprsa_multiplier_at(lane, i, limbs, threads_per_number,
                                        limbs_per_thread)] = own.of[k][i];
        }
    }
    warprsa_sync_lanes();
}

/* A = A times the samples at `multiplier` (OWN or OTHER), all in the room. */
WARPRSA_FN void warprsa_block_mont_mul(warprsa_exchange exchange,
                                       int multiplier, const int limbs,
                                       const int threads_per_number,
                                       const int limbs_per_thread,
                                       const int threads_per_request)
{
    const int block = WARPRSA_BLOCK_OF(limbs);
    const int all = limbs + WARPRSA_BLOCK_ZEROS(limbs);
    warprsa_columns s;

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i <= limbs_per_thread; i++)
            s.of[k][i] = warprsa_signed_start(2 * all, i, limbs_per_thread);
    }
    warprsa_block_rows(&s, exchange, multiplier, 0, WARPRSA_EXCHANGE_A, 0,
                       block, threads_per_number, limbs_per_thread,
                       threads_per_request);
    WARPRSA_ROLLED
    for (int base = 0; base < all - block; base += block)
        warprsa_block_reduce(&s, exchange, multiplier, base, all, block,
                             threads_per_number, limbs_per_thread,
                             threads_per_request);
    warprsa_block_reduce_last(&s, exchange, all - block, block,
                              threads_per_number, limbs_per_thread,
                              threads_per_request);
    warprsa_block_result(&s, exchange, limbs, block, threads_per_number,
                         limbs_per_thread, threads_per_request);
}

/* The same, once in a program for all who call it, where it isn't the time of
 * the product that counts: it is long. On the device the shape is then its
 * source file's one. */
WARPRSA_NOINLINE_FN void
warprsa_block_mont_mul_noinline(warprsa_exchange exchange, int multiplier,
                                const int limbs, const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
#ifdef __CUDACC__
    constexpr warprsa_shape shape = WARPRSA_BLOCKS_SHAPE;

    warprsa_block_mont_mul(exchange, multiplier, shape.limbs,
                           shape.threads_per_number, shape.limbs_per_thread,
                           2 * shape.threads_per_number);
#else
    warprsa_block_mont_mul(exchange, multiplier, limbs, threads_per_number,
                           limbs_per_thread, threads_per_request);
#endif
}

/* x in samples as the product wants them, from samples of any signs below 2^53;
 * the number must leave its top place free. */
WARPRSA_FN void warprsa_make_signed(warprsa_number *r, const warprsa_number *x,
                                    const int threads_per_number,
                                    const int limbs_per_thread,
                                    const int threads_per_request)
{
    warprsa_columns c;
    uint64_t in[WARPRSA_LANES_EMULATED];

    WARPRSA_EACH_LANE (k, threads_per_request) {
        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            c.of[k][i] = (uint64_t)(int64_t)x->of[k][i] + WARPRSA_SAMPLE_HALF;
        c.of[k][limbs_per_thread] = 0;
    }
    warprsa_pass_carries(in, &c, 1, 0, limbs_per_thread, threads_per_number,
                         limbs_per_thread, threads_per_request);
    warprsa_signed_samples(r, &c, in, limbs_per_thread, threads_per_request);
}

/* A and, in order, OWN. */
WARPRSA_FN void warprsa_block_put_a(const warprsa_number *x,
                                    warprsa_exchange exchange, const int limbs,
                                    const int threads_per_number,
                                    const int limbs_per_thread,
                                    const int threads_per_request)
{
    warprsa_put_window(x, exchange, WARPRSA_EXCHANGE_A, threads_per_number,
                       limbs_per_thread, threads_per_request);
    warprsa_put_multiplier(x, exchange, WARPRSA_EXCHANGE_A_MULTIPLIER, limbs,
                           threads_per_number, limbs_per_thread,
                           threads_per_request);
    warprsa_sync_lanes();
}

WARPRSA_FN void warprsa_block_put_b(const warprsa_number *x,
                                    warprsa_exchange exchange, const int limbs,
                                    const int threads_per_number,
                                    const int limbs_per_thread,
                                    const int threads_per_request)
{
    warprsa_put_multiplier(x, exchange, WARPRSA_EXCHANGE_B_MULTIPLIER, limbs,
                           threads_per_number, limbs_per_thread,
                           threads_per_request);
    warprsa_sync_lanes();
}

WARPRSA_FN void warprsa_block_get_a(warprsa_number *x,
                                    warprsa_exchange exchange, const int limbs,
                                    const int threads_per_number,
                                    const int limbs_per_thread,
                                    const int threads_per_request)
{
    WARPRSA_EACH_LANE (k, threads_per_request) {
        const double *from = warprsa_exchange_array(
            exchange, k, WARPRSA_EXCHANGE_A_MULTIPLIER, threads_per_number,
            limbs_per_thread, threads_per_request);
        int lane =
            warprsa_lane(k, threads_per_request) & (threads_per_number - 1);

        WARPRSA_UNROLL
        for (int i = 0; i < limbs_per_thread; i++)
            x->of[k][i] = from[warprsa_multiplier_at(
                lane, i, limbs, threads_per_number, limbs_per_thread)];
    }
}

/* Puts P, D and I of both halves into the room at m->room. */
WARPRSA_FN void warprsa_block_put_modulus(const warprsa_number *p,
                                          const warprsa_number *down,
                                          const warprsa_number *inverse,
                                          const warprsa_modulus *m,
                                          const int threads_per_number,
                                          const int limbs_per_thread,
                                          const int threads_per_request)
{
    warprsa_number x;

    warprsa_make_signed(&x, p, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_put_window(&x, m->exchange, WARPRSA_EXCHANGE_P, threads_per_number,
                       limbs_per_thread, threads_per_request);
    warprsa_make_signed(&x, down, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_put_window(&x, m->exchange, WARPRSA_EXCHANGE_INV_2_52,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_make_signed(&x, inverse, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_put_window(&x, m->exchange, WARPRSA_EXCHANGE_N0INV,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_sync_lanes();
}

/* r = a b / R mod P, bounds above; r may be a or b. Numbers over all lanes, mod
 * n, have no room and go by rows: one product of an operation does. */
WARPRSA_FN void warprsa_mont_mul(warprsa_number *r, const warprsa_number *a,
                                 const warprsa_number *b,
                                 const warprsa_modulus *m, const int limbs,
                                 const int threads_per_number,
                                 const int limbs_per_thread,
                                 const int threads_per_request)
{
    warprsa_number x;

    if (threads_per_number == threads_per_request) {
        warprsa_mont_mul_by_rows(r, a, b, m, limbs, threads_per_number,
                                 limbs_per_thread, threads_per_request);
    } else {
        warprsa_make_signed(&x, b, threads_per_number, limbs_per_thread,
                            threads_per_request);
        warprsa_block_put_b(&x, m->exchange, limbs, threads_per_number,
                            limbs_per_thread, threads_per_request);
        warprsa_make_signed(&x, a, threads_per_number, limbs_per_thread,
                            threads_per_request);
        warprsa_block_put_a(&x, m->exchange, limbs, threads_per_number,
                            limbs_per_thread, threads_per_request);
        warprsa_block_mont_mul_noinline(
            m->exchange, WARPRSA_EXCHANGE_B_MULTIPLIER, limbs,
            threads_per_number, limbs_per_thread, threads_per_request);
        warprsa_block_get_a(r, m->exchange, limbs, threads_per_number,
                            limbs_per_thread, threads_per_request);
    }
}

#endif
