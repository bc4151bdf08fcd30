/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Chen and Schaumont, "pSHS: A Scalable Parallel Software Implementation of
 * Montgomery Multiplication for Multicore Systems" (2010): p workers compute
 * one Montgomery product (algorithm 2). Its 2 s columns of word products are
 * cut into blocks of q = s / p, which the workers take in turns; quotients and
 * carries go round a ring of messages. A worker is a thread of a CPU or a warp
 * of an SM. Each lane of a warp has a product of its own, so a message is 32
 * words there.
 *
 * As printed, lines 10 and 23 replace rt[h + 1] where they must add to it, line
 * 13 reads t where it must read rt, and line 17 asks i > k - (p - 2) q, which
 * keeps one quotient from the worker after next: it must be >=. Where the paper
 * sends results round the ring (lines 32 to 38), workers here store them in the
 * memory that they share, and meet at a barrier. Like the paper's, products end
 * without a subtraction: the modulus has two bits fewer than its s words, so
 * that operands and results are below 2 N.
 *
 * Compiled for the device and for the host. For benchmarks only: it is not
 * constant time.
 */
#ifndef WARPRSA_PAPERS_PSHS_H
#define WARPRSA_PAPERS_PSHS_H

#include <stdbool.h>

#include "gpu/arith/lanes.h"

#ifdef __CUDACC__
enum {
    PSHS_WORDS_MAX = 64,
    PSHS_LANES = 32,
};
#else
#include <sched.h>

enum {
    PSHS_WORDS_MAX = 256,
    PSHS_LANES = 1,
};
#endif

/* Messages that a link has room for. A product sends fewer than s + 16 on each
 * link, and all are read before the barrier that ends it. */
#define PSHS_SLOTS (PSHS_WORDS_MAX * 2)

/* From one worker to the next: `slots` messages of PSHS_LANES words, and how
 * many were sent since the start. */
typedef struct pshs_link {
    uint32_t *slots, *sent;
} pshs_link;

/* Word j is at[j * step]; a step of PSHS_LANES has a number in each lane. */
typedef struct pshs_operand {
    const uint32_t *at;
    uint32_t step;
} pshs_operand;

typedef struct pshs_worker {
    int p, q, s, pid;
    uint32_t n0inv;
    const uint32_t *modulus;
    pshs_link in, out;
    uint32_t received, sent; /* messages since the start */
    uint32_t *barrier;       /* of the host */
    uint32_t rt[PSHS_WORDS_MAX + 2], m[PSHS_WORDS_MAX];
} pshs_worker;

WARPRSA_FN uint32_t pshs_lane(void)
{
#ifdef __CUDACC__
    return threadIdx.x % PSHS_LANES;
#else
    return 0;
#endif
}

/* The message is in its slot before the count says so. */
WARPRSA_FN void pshs_send(pshs_worker *w, uint32_t word)
{
    uint32_t *slot =
        &w->out.slots[w->sent++ % PSHS_SLOTS * PSHS_LANES + pshs_lane()];
#ifdef __CUDACC__
    *(volatile uint32_t *)slot = word;
    __threadfence_block();
    __syncwarp();
    if (pshs_lane() == 0)
        *(volatile uint32_t *)w->out.sent = w->sent;
#else
    *slot = word;
    __atomic_store_n(w->out.sent, w->sent, __ATOMIC_RELEASE);
#endif
}

#ifndef __CUDACC__
/* Other threads may need this CPU. */
static inline void pshs_wait(uint32_t *turns)
{
    if (++*turns % 512 == 0)
        sched_yield();
}
#endif

WARPRSA_FN uint32_t pshs_receive(pshs_worker *w)
{
    const uint32_t at = w->received++;
    uint32_t *slot = &w->in.slots[at % PSHS_SLOTS * PSHS_LANES + pshs_lane()];
#ifdef __CUDACC__
    while ((int32_t)(*(volatile uint32_t *)w->in.sent - at) <= 0)
        ;
    __threadfence_block();
    __syncwarp();
    return *(volatile uint32_t *)slot;
#else
    uint32_t turns = 0;

    while ((int32_t)(__atomic_load_n(w->in.sent, __ATOMIC_ACQUIRE) - at) <= 0)
        pshs_wait(&turns);
    return *slot;
#endif
}

/* All workers meet. The host counts arrivals; the count only grows. */
WARPRSA_FN void pshs_meet(pshs_worker *w)
{
#ifdef __CUDACC__
    (void)w;
    __syncthreads();
#else
    const uint32_t p = (uint32_t)w->p;
    const uint32_t mine = __atomic_fetch_add(w->barrier, 1, __ATOMIC_ACQ_REL);
    const uint32_t wanted = mine - mine % p + p;
    uint32_t turns = 0;

    while ((int32_t)(__atomic_load_n(w->barrier, __ATOMIC_ACQUIRE) - wanted) <
           0)
        pshs_wait(&turns);
#endif
}

WARPRSA_FN int pshs_least(int a, int b)
{
    return a < b ? a : b;
}

WARPRSA_FN int pshs_most(int a, int b)
{
    return a > b ? a : b;
}

/* rt from word `at` on += c. What leaves the block fits in its two upper
 * words. */
WARPRSA_FN void pshs_add(pshs_worker *w, int at, uint64_t c)
{
    for (; c != 0 && at < w->q + 2; at++) {
        c += w->rt[at];
        w->rt[at] = (uint32_t)c;
        c >>= 32;
    }
}

/* Row i of the block of columns from k on: x times the word y. */
WARPRSA_FN void pshs_row(pshs_worker *w, pshs_operand x, uint32_t y, int i,
                         int k)
{
    const int first = pshs_most(0, k - i);
    const int end = pshs_least(k - i + w->q, w->s);
    uint64_t c = 0;

    for (int j = first; j < end; j++) {
        uint32_t *t = &w->rt[j - k + i];

        c += (uint64_t)x.at[(uint32_t)j * x.step] * y + *t;
        *t = (uint32_t)c;
        c >>= 32;
    }
    pshs_add(w, pshs_least(w->q, w->s - k + i), c);
}

/* Lines 12 to 18: the quotient of row i is made by this block, comes from the
 * worker before, or is known from the block before. */
WARPRSA_FN uint32_t pshs_quotient(pshs_worker *w, int i, int k)
{
    if (i >= k) {
        w->m[i] = w->n0inv * w->rt[i - k];
        if (w->p > 1)
            pshs_send(w, w->m[i]);
    } else if (i >= k - (w->p - 1) * w->q) {
        w->m[i] = pshs_receive(w);
        if (i >= k - (w->p - 2) * w->q)
            pshs_send(w, w->m[i]);
    }
    return w->m[i];
}

/* Lines 4 to 29: the block of columns from k on. */
WARPRSA_FN void pshs_block(pshs_worker *w, uint32_t *t, pshs_operand a,
                           pshs_operand b, int k)
{
    const int first = pshs_most(0, k - w->s + 1);
    const int end = pshs_least(k + w->q, w->s);
    const pshs_operand n = {w->modulus, 1};

    for (int j = 0; j < w->q + 2; j++)
        w->rt[j] = 0;
    WARPRSA_ROLLED
    for (int i = first; i < end; i++)
        pshs_row(w, a, b.at[(uint32_t)i * b.step], i, k);
    WARPRSA_ROLLED
    for (int i = first; i < end; i++) {
        pshs_row(w, n, pshs_quotient(w, i, k), i, k);
        if (k != 0 && i == pshs_least(k - 1, w->s - 1)) {
            uint64_t c = pshs_receive(w);

            c |= (uint64_t)pshs_receive(w) << 32;
            pshs_add(w, 0, c & 0xffffffff);
            pshs_add(w, 1, c >> 32);
        }
    }
    pshs_send(w, w->rt[w->q]);
    pshs_send(w, w->rt[w->q + 1]);
    for (int j = 0; k >= w->s && j < w->q; j++)
        t[(uint32_t)(k - w->s + j) * PSHS_LANES + pshs_lane()] = w->rt[j];
}

/* t <- a b / 2^(32 s) mod N, below 2 N for a b < 4 N^2. All workers call it
 * with the same arguments; t, with a word of each lane side by side, is neither
 * a nor b. */
WARPRSA_FN void pshs_product(pshs_worker *w, uint32_t *t, pshs_operand a,
                             pshs_operand b)
{
    WARPRSA_ROLLED
    for (int k = w->pid * w->q; k < 2 * w->s; k += w->p * w->q)
        pshs_block(w, t, a, b, k);
    /* The carry out of the top, which is 0. */
    if (w->pid == 0) {
        pshs_receive(w);
        pshs_receive(w);
    }
    pshs_meet(w);
}

/* The exponent and R^2 mod N of all numbers. */
typedef struct pshs_key {
    const uint32_t *r2, *exponent, *one; /* one: the number 1, of s words */
    int exponent_bits;
} pshs_key;

/* values[0] <- values[0]^e mod N, or N for 0. The three values are memory that
 * the workers share, a word of each lane side by side. By the binary
 * left-to-right method. */
WARPRSA_FN void pshs_modexp(pshs_worker *w, uint32_t *const *values,
                            const pshs_key *key)
{
    uint32_t *x = values[1], *now = x, *next = values[0];
    const uint32_t lane = pshs_lane();
    int bit = key->exponent_bits - 1;
    bool due = false;

    pshs_product(w, x, (pshs_operand){values[0] + lane, PSHS_LANES},
                 (pshs_operand){key->r2, 1});
    /* Each turn is a square, or the product with x that a bit of one makes due.
     * x stays; the other two values take turns. */
    WARPRSA_ROLLED
    while (bit > 0 || due) {
        const uint32_t *by = due ? x : now;
        uint32_t *spare = now == x ? values[2] : now;

        pshs_product(w, next, (pshs_operand){now + lane, PSHS_LANES},
                     (pshs_operand){by + lane, PSHS_LANES});
        now = next;
        next = spare;
        if (!due)
            bit--;
        due = !due && (key->exponent[bit / 32] >> bit % 32 & 1);
    }
    pshs_product(w, next, (pshs_operand){now + lane, PSHS_LANES},
                 (pshs_operand){key->one, 1});
    if (next != values[0] && w->pid == 0)
        for (uint32_t j = 0; j < (uint32_t)w->s; j++)
            values[0][j * PSHS_LANES + lane] = next[j * PSHS_LANES + lane];
    pshs_meet(w);
}

#endif
