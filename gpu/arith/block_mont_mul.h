/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Block arithmetic: the Montgomery product for few requests, where the time is
 * that of the longest chain of dependent instructions and not that of their
 * number. In gpu/arith/wide_sample.h each row of the product ends with a
 * division by 2^52, and the next row waits for the lowest sample that this
 * leaves. Here B rows, a block, end with one division:
 *
 *   S = sum of B rows t_j a                   (columns, carries unresolved)
 *   x = S mod 2^(52 B), in samples
 *   S = (S - x) / 2^(52 B) + x D              D = 2^(-52 B) mod P
 *
 * The last block ends, in place of the last line, with the classical reduction,
 * with I = -1/P:
 *
 *   q = x I mod 2^(52 B),   S = (S + q P) / 2^(52 B)
 *
 * The rows of the next block need nothing of x and are computed meanwhile.
 *
 * Layout. Columns stay where they are. With C = threads_per_number *
 * limbs_per_thread, index c of the C columns in the lanes holds column c of the
 * sum, and column c + C once column c has been cut off. The multiplicand moves
 * instead: each lane reads the samples that its columns need from an array in
 * the request's exchange buffer, a "window", which is periodic in C and in
 * which the samples of a number are followed by zeros. A block makes columns
 * from its lowest up to limbs + B above it, hence limbs + B < C. A block begins
 * and ends at the border of a lane.
 *
 * Where the blocks have more rows than the multiplier t has samples, the first
 * WARPRSA_BLOCK_ZEROS(limbs) rows are those of zeros. The product is then that
 * of t times a power of 2^52, and the additional rows divide by this power
 * again.
 *
 * Samples are signed. At a cut each lane passes on the carries of its columns
 * as they stand, all lanes at once. A sample may therefore leave [-2^51, 2^51)
 * by the carry that enters it, which is below 2^7:
 *
 *   |sample| <= 2^51 + 2^7,   |t v| < 2^102 + 2^60
 *
 * Hence 1.5 * 2^104 + t v lies between 2^104 and 2^105, where doubles are 2^52
 * apart. A column takes at most 2 limbs high halves, each below 2^51 in
 * absolute value, and as many low ones in [0, 2^52): within 2^59 for 40 limbs.
 *
 * Bounds. 32P < R = 2^(52 limbs), and |x| and |q| are at most 2^(52 B) (1/2 +
 * 2^-44). The last block adds q P / 2^(52 B). The x D of the block before is
 * divided by 2^(52 B) there, and the x D of earlier blocks by a higher power.
 * Each of the first two is at most P (1/2 + 2^-44), so that |result - a b / R|
 * < 1.01 P, hence
 *
 *   0 <= a < R,   0 <= b < P     gives |result| < 2.01P  (unreduced input)
 *   |a| < 2.01P,  |b| < 2.01P    gives less than 1.14P   (inside a modexp)
 *   |a| < 10P,    |b| < 2.01P    gives less than 1.64P   (sums of products)
 *
 * Numbers below zero come from warprsa_mont_mul() of this arithmetic alone.
 * gpu/arith/exact_reduction.h takes them into account.
 */
#ifndef WARPRSA_GPU_ARITH_BLOCK_MONT_MUL_H
#define WARPRSA_GPU_ARITH_BLOCK_MONT_MUL_H

#include "gpu/arith/wide_sample.h"

/*
 * The arrays that each half has in the exchange buffer of its request. Their
 * unit is C doubles. A window takes two of these: with w = threads_per_number,
 * sample i of lane k is at 2 w i + k and again at 2 w i + w + k, so that a lane
 * reads beyond either end of the number without a branch. The other arrays hold
 * samples in order.
 */
enum {
    WARPRSA_EXCHANGE_A = 0, /* window: the multiplicand */
    WARPRSA_EXCHANGE_P = 2, /* windows: P, D, I */
    WARPRSA_EXCHANGE_INV_2_52 = 4,
    WARPRSA_EXCHANGE_N0INV = 6,
    WARPRSA_EXCHANGE_A_MULTIPLIER = 8, /* a copy of A */
    WARPRSA_EXCHANGE_B_MULTIPLIER = 9, /* the multiplier */
    WARPRSA_EXCHANGE_CUT = 10,         /* x, q */
    WARPRSA_EXCHANGE_ARRAYS = 11,
};

/* Doubles of a request's exchange buffer. */
#define WARPRSA_EXCHANGE_DOUBLES(threads_per_number, limbs_per_thread)         \
    (2 * WARPRSA_EXCHANGE_ARRAYS * (threads_per_number) * (limbs_per_thread))

#ifdef __CUDACC__
extern __shared__ __align__(16) double warprsa_shared[];
#endif

#define WARPRSA_SIGNED_HIGH 0x1.8p104
#define WARPRSA_SIGNED_LOW  0x1p52
#define WARPRSA_SAMPLE_HALF (1ull << (WARPRSA_SAMPLE_BITS - 1))

/* Array `which` of lane k's half. */
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

/* Index of sample i of lane `lane` in the array of a multiplier. The zeros of
 * the first rows come first; they are the uppermost samples of the number
 * itself, which are zero. */
WARPRSA_FN int warprsa_multiplier_at(int lane, int i, const int limbs,
                                     const int threads_per_number,
                                     const int limbs_per_thread)
{
    int at = lane * limbs_per_thread + i + WARPRSA_BLOCK_ZEROS(limbs);

    return at < threads_per_number * limbs_per_thread
               ? at
               : at - threads_per_number * limbs_per_thread;
}

/* Stores x as a multiplier. */
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

/* Minus what `rows` rows add to column i of a lane besides the halves of their
 * products: the exponent fields, so that these cancel. */
WARPRSA_FN uint64_t warprsa_signed_start(int rows, int i,
                                         const int limbs_per_thread)
{
    uint64_t high = i > 0 ? 0x4678000000000000ull : 0;
    uint64_t low = i < limbs_per_thread ? 0x4330000000000000ull : 0;

    return 0 - (uint64_t)rows * (high + low);
}

/* warprsa_row() for signed samples. Adding 1.5 * 2^104 instead of 2^104 keeps
 * the sum within one power of two for either sign. */
WARPRSA_FN void warprsa_signed_row(uint64_t *s, double t, const double *v,
                                   const int limbs_per_thread)
{
    uint64_t carried = 0;

    WARPRSA_UNROLL
    for (int i = 0; i < limbs_per_thread; i++) {
        double high = warprsa_fma_rz(t, v[i], WARPRSA_SIGNED_HIGH);
        double low = warprsa_fma_rz(
            t, v[i], (WARPRSA_SIGNED_HIGH + WARPRSA_SIGNED_LOW) - high);

        WARPRSA_BOUND("Blocks of rows: Signed samples",
                      fabs(t) <= 0x1p51 + 0x1p7 &&
                          fabs(v[i]) <= 0x1p51 + 0x1p7);
        WARPRSA_BOUND("Blocks of rows: Signed samples",
                      high >= 0x1p104 && high < 0x1p105 && low >= 0x1p52 &&
                          low < 0x1p53 &&
                          warprsa_halves_are_exact(t, v[i], high, low,
                                                   WARPRSA_SIGNED_HIGH));
        s[i] += warprsa_bits(low) + carried;
        carried = warprsa_bits(high);
    }
    s[limbs_per_thread] += carried;
}

/* The sample `down` indices below the lane's first one in a window; `down` may
 * be negative. */
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

/* Adds `count` rows: the products of the samples at `multiplier + base` with
 * the number in `window`, the first sample of which belongs to column `shift`,
 * a lane's first. */
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

/* 2^52 plus the lowest 52 bits of a column. */
WARPRSA_FN double warprsa_biased_sample(uint64_t column)
{
    return warprsa_from_bits((column & WARPRSA_SAMPLE_MASK) |
                             0x4330000000000000ull);
}

/*
 * Resolves columns, which are 2^51 above what they stand for, into samples;
 * in[k] is the carry from the lane below. What leaves a lane's last column has
 * been passed on already. A sample as it is cut, less 2^51, plus that carry may
 * exceed the bits behind 2^52 in a double, so in the last column the carry is
 * added as a double of its own.
 */
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
        WARPRSA_BOUND("Blocks of rows: Signed samples",
                      warprsa_is_within(carry, 1 << 7));
        WARPRSA_VERIFY_ONLY(for (int i = 0; i < limbs_per_thread; i++))
        WARPRSA_BOUND("Blocks of rows: Signed samples",
                      fabs(x->of[k][i]) <= 0x1p51 + 0x1p7);
    }
}

/* Whether the block that begins at column `base` has the columns of lane k. */
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

/* The carry into each lane from the one below: from all lanes, or from the
 * lanes of the block at `base` only. Columns are 2^51 above what they stand
 * for. */
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

/* Copies the sum to c for the cut of the block at `base`, without the exponent
 * fields of the `left` rows still to come, for which the columns were started,
 * and 2^51 higher. The block's columns in s begin from zero again: they hold
 * nothing but the start value for the rows to come. */
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
            WARPRSA_BOUND("Blocks of rows: Signed samples",
                          warprsa_is_within(s->of[k][i] - start, 1ull << 59));
            s->of[k][i] = in ? start : s->of[k][i];
        }
    }
}

/* Ends a block that is not the last, and meanwhile adds the rows t a of the
 * block after it. */
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

/* Ends the last block: q P makes its columns a multiple of 2^(52 B). */
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
 * Stores the result as A in the exchange buffer.
 *
 * What the last block carries out of its top column is computed without its
 * lower columns, and is exact all the same. With the lower columns the top
 * column would be a multiple of 2^52, and they change it by less than 2^8. So
 * the multiple nearest to the top column alone is the right one. The block's
 * own columns are zero then.
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
        for (int i = 0; i < limbs_per_thread; i++) {
            WARPRSA_BOUND("Blocks of rows: Signed samples",
                          warprsa_is_within(s->of[k][i], 1ull << 59));
            s->of[k][i] += WARPRSA_SAMPLE_HALF;
        }
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
            WARPRSA_BOUND("Blocks of rows: The last carry",
                          !in_block || x.of[k][i] == 0);
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

#ifdef WARPRSA_VERIFIES
/* A number of each half in the exchange buffer: the prime in its window, or a
 * multiplier. */
static inline warprsa_values
warprsa_values_in_exchange(warprsa_exchange exchange, int which, int limbs,
                           int threads_per_number, int limbs_per_thread,
                           int threads_per_request)
{
    const int all = threads_per_number * limbs_per_thread;
    warprsa_values values = {{0}};

    for (int k = 0; k < threads_per_request; k += threads_per_number) {
        const double *of =
            warprsa_exchange_array(exchange, k, which, threads_per_number,
                                   limbs_per_thread, threads_per_request);
        long double value = 0;

        for (int i = all - 1; i >= 0; i--) {
            const int lane = i / limbs_per_thread, at = i % limbs_per_thread;

            value = value * 0x1p52L +
                    of[which == WARPRSA_EXCHANGE_P
                           ? 2 * threads_per_number * at + lane
                           : warprsa_multiplier_at(lane, at, limbs,
                                                   threads_per_number,
                                                   limbs_per_thread)];
        }
        values.of[k / threads_per_number] = value;
    }
    return values;
}

/* a b / R of A and a multiplier. */
static inline warprsa_values
warprsa_products_in_exchange(warprsa_exchange exchange, int multiplier,
                             int limbs, int threads_per_number,
                             int limbs_per_thread, int threads_per_request)
{
    const warprsa_values b = warprsa_values_in_exchange(
        exchange, multiplier, limbs, threads_per_number, limbs_per_thread,
        threads_per_request);
    warprsa_values a = warprsa_values_in_exchange(
        exchange, WARPRSA_EXCHANGE_A_MULTIPLIER, limbs, threads_per_number,
        limbs_per_thread, threads_per_request);

    for (int i = 0; i < threads_per_request / threads_per_number; i++)
        a.of[i] *= b.of[i] / warprsa_power_of_two(52 * limbs);
    return a;
}

/* Whether A is within `times` P of numbers, or of zero. */
static inline int
warprsa_exchange_is_near(warprsa_exchange exchange, const warprsa_values *to,
                         long double times, int limbs, int threads_per_number,
                         int limbs_per_thread, int threads_per_request)
{
    const warprsa_values a = warprsa_values_in_exchange(
        exchange, WARPRSA_EXCHANGE_A_MULTIPLIER, limbs, threads_per_number,
        limbs_per_thread, threads_per_request);
    const warprsa_values p = warprsa_values_in_exchange(
        exchange, WARPRSA_EXCHANGE_P, limbs, threads_per_number,
        limbs_per_thread, threads_per_request);

    for (int i = 0; i < threads_per_request / threads_per_number; i++)
        if (!(fabsl(a.of[i] - (to != NULL ? to->of[i] : 0)) < times * p.of[i]))
            return 0;
    return 1;
}
#endif

/* A = A times the samples at `multiplier` (A_MULTIPLIER or B_MULTIPLIER), all
 * in the exchange buffer. Inlined. */
WARPRSA_FN void warprsa_block_mont_mul(warprsa_exchange exchange,
                                       int multiplier, const int limbs,
                                       const int threads_per_number,
                                       const int limbs_per_thread,
                                       const int threads_per_request)
{
    const int block = WARPRSA_BLOCK_OF(limbs);
    const int all = limbs + WARPRSA_BLOCK_ZEROS(limbs);
    warprsa_columns s;

    WARPRSA_VERIFY_ONLY(const warprsa_values product =
                            warprsa_products_in_exchange(
                                exchange, multiplier, limbs, threads_per_number,
                                limbs_per_thread, threads_per_request));
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
    WARPRSA_BOUND("Blocks of rows: Bounds",
                  warprsa_exchange_is_near(exchange, &product, 1.01L, limbs,
                                           threads_per_number, limbs_per_thread,
                                           threads_per_request));
    WARPRSA_BOUND("Blocks of rows: Bounds",
                  warprsa_exchange_is_near(exchange, NULL, 2.01L, limbs,
                                           threads_per_number, limbs_per_thread,
                                           threads_per_request));
}

/* The same as a function of its own, for callers in which its time matters
 * little: it is long. On the device all callers have the shape of their source
 * file. */
WARPRSA_NOINLINE_FN void
warprsa_block_mont_mul_noinline(warprsa_exchange exchange, int multiplier,
                                const int limbs, const int threads_per_number,
                                const int limbs_per_thread,
                                const int threads_per_request)
{
#ifdef __CUDACC__
    constexpr warprsa_shape shape = WARPRSA_LOW_LATENCY_SHAPE;

    warprsa_block_mont_mul(exchange, multiplier, shape.limbs,
                           shape.threads_per_number, shape.limbs_per_thread,
                           2 * shape.threads_per_number);
#else
    warprsa_block_mont_mul(exchange, multiplier, limbs, threads_per_number,
                           limbs_per_thread, threads_per_request);
#endif
}

/* x in the signed samples that a product takes, from samples of either sign
 * below 2^53; the number must leave its topmost column free. */
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
        WARPRSA_VERIFY_ONLY(for (int i = 0; i < limbs_per_thread; i++))
        WARPRSA_BOUND("Blocks of rows: Signed samples",
                      fabs(x->of[k][i]) <= 0x1p53);
        c.of[k][limbs_per_thread] = 0;
    }
    warprsa_pass_carries(in, &c, 1, 0, limbs_per_thread, threads_per_number,
                         limbs_per_thread, threads_per_request);
    warprsa_signed_samples(r, &c, in, limbs_per_thread, threads_per_request);
}

/* Stores x as the multiplicand A and as A_MULTIPLIER. */
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

/* Stores P, D and I of both halves in the exchange buffer at m->exchange. */
WARPRSA_FN void warprsa_block_put_modulus(const warprsa_number *p,
                                          const warprsa_number *inv_2_52,
                                          const warprsa_number *n0inv,
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
    warprsa_make_signed(&x, inv_2_52, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_put_window(&x, m->exchange, WARPRSA_EXCHANGE_INV_2_52,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_make_signed(&x, n0inv, threads_per_number, limbs_per_thread,
                        threads_per_request);
    warprsa_put_window(&x, m->exchange, WARPRSA_EXCHANGE_N0INV,
                       threads_per_number, limbs_per_thread,
                       threads_per_request);
    warprsa_sync_lanes();
}

/* r = a b / R mod P within the bounds above; r may be a or b. Numbers over all
 * lanes, modulo n, have no constants in the exchange buffer and are multiplied
 * row by row: an operation has one such product. */
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
