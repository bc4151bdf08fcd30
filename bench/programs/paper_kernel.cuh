/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The paper's listings as device code; names and figures are the paper's. As
 * printed they have three mistakes, marked "erratum" here.
 */
#ifndef WARPRSA_BENCH_PAPER_KERNEL_CUH
#define WARPRSA_BENCH_PAPER_KERNEL_CUH

#include "bench/programs/paper_kernel.h"

namespace paper
{

constexpr uint64_t mask52 = 0xFFFFFFFFFFFFFull; /* erratum: figure 9, 10 */

__device__ __forceinline__ uint64_t to_u64(double x)
{
    return (uint64_t)__double_as_longlong(x);
}

/* An integer in [0, 2^52] as a double. */
__device__ __forceinline__ double to_sample(uint64_t x)
{
    return __longlong_as_double((long long)(x + 0x4330000000000000ull)) -
           0x1p52;
}

/* Figure 6. */
__device__ __forceinline__ constexpr uint64_t make_initial(int high, int low)
{
    return (0 - ((uint64_t)high * 0x467 + (uint64_t)low * 0x433)) << 52;
}

/* Figure 8: sums += term * v. A column takes the high half of one product and
 * the low half of the next in one three-input addition. */
template <int LIMBS>
__device__ __forceinline__ void rowmul(uint64_t *sums, double term,
                                       const double *v)
{
    constexpr double c1 = 0x1p104, c2 = 0x1p104 + 0x1p52;
    uint64_t above = 0;

#pragma unroll
    for (int i = 0; i < LIMBS; i++) {
        double hi = __fma_rz(term, v[i], c1);
        double lo = __fma_rz(term, v[i], c2 - hi); /* erratum: hi - c2 */

        sums[i] += to_u64(lo) + above;
        above = to_u64(hi);
    }
    sums[LIMBS] += above;
}

/* Figure 10: each thread resolves its own carries and pushes what is left
 * into the next thread's two lowest samples. */
template <int THREADS, int LIMBS>
__device__ __forceinline__ void resolve(double *r, uint64_t *sums)
{
#pragma unroll
    for (int i = 1; i < LIMBS; i++) {
        sums[i] += sums[i - 1] >> 52;
        sums[i - 1] &= mask52;
    }
    uint64_t in = __shfl_sync(~0u, sums[LIMBS - 1] >> 52,
                              (threadIdx.x - 1) & (THREADS - 1), THREADS);
    if ((threadIdx.x & (THREADS - 1)) == 0)
        in = 0;
    sums[LIMBS - 1] &= mask52;
    sums[0] += in;
    sums[1] += sums[0] >> 52;
    sums[0] &= mask52;
#pragma unroll
    for (int i = 0; i < LIMBS; i++)
        r[i] = to_sample(sums[i]);
}

/* Figure 9 and then figure 10: r = a b / R mod p, below 2p. */
template <int N, int THREADS, int LIMBS>
__device__ __forceinline__ void
modmul(double *r, const double *a, const double *b, const double *p, double np0)
{
    uint64_t sums[LIMBS + 1];

#pragma unroll
    for (int word = 0; word < LIMBS; word++)
        sums[word] = make_initial(2 * word, 2 * word + 2);
#pragma unroll
    for (int i = 0; i < N; i++) {
        /* Erratum: the products that a column entering in row i meets are
         * those of the rows left, itself included; at most LIMBS of each. */
        const int left = N - i;

        sums[LIMBS] = left > LIMBS ? make_initial(2 * LIMBS, 2 * LIMBS)
                                   : make_initial(2 * left, 2 * (left - 1));
        rowmul<LIMBS>(sums, __shfl_sync(~0u, b[i % LIMBS], i / LIMBS, THREADS),
                      a);
        double low = to_sample(sums[0] & mask52);
        double high = __fma_rz(low, np0, 0x1p104);
        double q = __fma_rz(low, np0, 0x1p104 - high);
        rowmul<LIMBS>(sums, __shfl_sync(~0u, q, 0, THREADS), p);
        /* The lowest thread's lowest sample is zero now and wraps around. */
        uint64_t down = __shfl_sync(~0u, sums[0] & mask52,
                                    (threadIdx.x + 1) & (THREADS - 1), THREADS);
        sums[0] = sums[1] + (sums[0] >> 52);
#pragma unroll
        for (int word = 1; word < LIMBS - 1; word++)
            sums[word] = sums[word + 1];
        sums[LIMBS - 1] = sums[LIMBS] + down;
    }
    resolve<THREADS, LIMBS>(r, sums);
}

/* The thread's part of the table: entry e's sample i. */
struct table {
    double *at;

    template <int LIMBS> __device__ double &entry(int e, int i) const
    {
        return at[(size_t)(e * LIMBS + i) * (int)blockDim.x];
    }
    template <int LIMBS> __device__ void put(int e, const double *x) const
    {
#pragma unroll
        for (int i = 0; i < LIMBS; i++)
            entry<LIMBS>(e, i) = x[i];
    }
    template <int LIMBS> __device__ void get(double *x, int e) const
    {
#pragma unroll
        for (int i = 0; i < LIMBS; i++)
            x[i] = entry<LIMBS>(e, i);
    }
};

/* Digit `place` of an exponent. */
__device__ __forceinline__ int digit_of(const uint32_t *k, int place)
{
    int bit = place * PAPER_WINDOW;
    uint64_t bits = k[bit >> 5] | ((uint64_t)k[(bit >> 5) + 1] << 32);

    return (int)(bits >> (bit & 31)) & (PAPER_ENTRIES - 1);
}

/* Fills the table with a's powers but for entry 0, which is one; x is
 * scratch. */
template <int N, int THREADS, int LIMBS>
__device__ __forceinline__ void fill(table t, double *x, const double *a,
                                     const double *p, double np0)
{
    t.put<LIMBS>(1, a);
#pragma unroll
    for (int i = 0; i < LIMBS; i++)
        x[i] = a[i];
#pragma unroll 1
    for (int e = 2; e < PAPER_ENTRIES; e++) {
        modmul<N, THREADS, LIMBS>(x, x, a, p, np0);
        t.put<LIMBS>(e, x);
    }
}

/* x = a^k in Montgomery form, by fixed windows from the top one down. With SKIP
 * a digit that is zero in all threads of a warp costs no multiplication: a leak
 * for the tests to find. */
template <int N, int THREADS, int LIMBS, int BITS, bool SKIP>
__device__ __forceinline__ void power(double *x, const uint32_t *k,
                                      const double *p, double np0, table t)
{
    constexpr int digits = (BITS + PAPER_WINDOW - 1) / PAPER_WINDOW;
    double entry[LIMBS];

    for (int place = digits - 1; place >= 0; place--) {
        int digit = digit_of(k, place);

        if (place == digits - 1) {
            t.get<LIMBS>(x, digit);
            continue;
        }
#pragma unroll 1
        for (int i = 0; i < PAPER_WINDOW; i++)
            modmul<N, THREADS, LIMBS>(x, x, x, p, np0);
        t.get<LIMBS>(entry, digit);
        if (!SKIP || __any_sync(~0u, digit != 0))
            modmul<N, THREADS, LIMBS>(x, x, entry, p, np0);
    }
}

/* Threads past the end of the batch compute the last instance again. Some
 * things here, in table::entry() and in power() could be written in several
 * ways that mean the same (int, blockDim, the first digit in the loop). They
 * are written in the way of which ptxas makes the fastest code: other ways cost
 * 2 % with 2048 bits. */
template <int N, int THREADS, int LIMBS, int BITS, bool SKIP>
__global__ void __launch_bounds__(PAPER_BLOCK) exponentiate(paper_batch batch)
{
    int instance = (blockIdx.x * blockDim.x + threadIdx.x) / THREADS;
    int lane = threadIdx.x & (THREADS - 1);

    if (instance >= (int)batch.count)
        instance = (int)batch.count - 1;
    size_t first = ((size_t)instance * THREADS + lane) * LIMBS;
    double a[LIMBS], p[LIMBS], r2[LIMBS], x[LIMBS];
#pragma unroll
    for (int i = 0; i < LIMBS; i++) {
        a[i] = (double)batch.a[first + i];
        p[i] = (double)batch.p[first + i];
        r2[i] = (double)batch.r2[first + i];
    }
    double np0 = (double)batch.n0inv[instance];
    double one[LIMBS];
#pragma unroll
    for (int i = 0; i < LIMBS; i++)
        one[i] = lane == 0 && i == 0 ? 1.0 : 0.0;
    table t = {batch.table +
               (size_t)(blockIdx.x * blockDim.x) * LIMBS * PAPER_ENTRIES +
               threadIdx.x};

    modmul<N, THREADS, LIMBS>(x, r2, one, p, np0);
    t.put<LIMBS>(0, x);
    modmul<N, THREADS, LIMBS>(a, a, r2, p, np0);
    fill<N, THREADS, LIMBS>(t, x, a, p, np0);
    power<N, THREADS, LIMBS, BITS, SKIP>(
        x, batch.k + (size_t)instance * (BITS / 32 + 1), p, np0, t);
    modmul<N, THREADS, LIMBS>(x, x, one, p, np0);
#pragma unroll
    for (int i = 0; i < LIMBS; i++)
        batch.result[first + i] = (uint64_t)x[i];
}

template <int N, int THREADS, int LIMBS, int BITS, bool SKIP>
cudaError_t launch(const paper_batch *batch, cudaStream_t stream)
{
    constexpr uint32_t per_block = PAPER_BLOCK / THREADS;
    uint32_t blocks = (batch->count + per_block - 1) / per_block;

    exponentiate<N, THREADS, LIMBS, BITS, SKIP>
        <<<blocks, PAPER_BLOCK, 0, stream>>>(*batch);
    return cudaGetLastError();
}

} // namespace paper

#endif
