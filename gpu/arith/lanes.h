/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One source for two machines. A request is computed by a group of G lanes.
 * On the device a lane is a thread of a warp and a variable of a lane lives
 * in that thread's registers. On the host one thread plays all lanes in turn:
 * a variable of a lane is an array over the lanes, and every stretch of code
 * between two exchanges is a loop over them. WARPRSA_EACH_LANE writes such a
 * loop; on the device it has a single turn.
 *
 * All branches and loop counts here depend on sizes alone, so the lanes of a
 * warp never part and every exchange may name the whole warp.
 */
#ifndef WARPRSA_GPU_ARITH_LANES_H
#define WARPRSA_GPU_ARITH_LANES_H

#include <stdint.h>

#ifdef __CUDACC__
#define WARPRSA_FN                                static __device__ __forceinline__
#define WARPRSA_NOINLINE_FN                       static __device__ __noinline__
#define WARPRSA_LANES_EMULATED                    1
#define WARPRSA_UNROLL                            _Pragma("unroll")
#define WARPRSA_ROLLED                            _Pragma("unroll 1")
#define WARPRSA_EACH_LANE(k, threads_per_request) for (int k = 0; k < 1; k++)
#else
#define WARPRSA_FN static inline
/* Once more for processors with a fused multiply-add: fma() without it is a
 * call, three times slower. Needs a resolver at load time, which sanitizers
 * do not survive, and clang does not flatten what it clones. */
#if defined(__x86_64__) && !defined(__clang__) &&                              \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WARPRSA_WITH_FMA                                                       \
    __attribute__((target_clones("fma", "default"), flatten))
#else
#define WARPRSA_WITH_FMA
#endif
/* Once for all who call it: for what is long. */
#define WARPRSA_NOINLINE_FN static __attribute__((noinline)) WARPRSA_WITH_FMA
#ifdef WARPRSA_BLOCK_ARITH
#define WARPRSA_LANES_EMULATED 32
#else
#define WARPRSA_LANES_EMULATED 16
#endif
#define WARPRSA_UNROLL
#define WARPRSA_ROLLED
#define WARPRSA_EACH_LANE(k, threads_per_request)                              \
    for (int k = 0; k < (threads_per_request); k++)
#endif

/* The lane's place in its group of G. */
WARPRSA_FN int warprsa_lane(int k, const int threads_per_request)
{
#ifdef __CUDACC__
    (void)k;
    return (int)(threadIdx.x & (unsigned)(threads_per_request - 1));
#else
    (void)threads_per_request;
    return k;
#endif
}

/* Every lane gets the value of lane `source` of its subgroup of `width`. */
WARPRSA_FN void warprsa_broadcast(uint64_t *to, const uint64_t *from,
                                  int source, const int threads_per_number,
                                  const int threads_per_request)
{
#ifdef __CUDACC__
    (void)threads_per_request;
    to[0] = __shfl_sync(0xffffffffu, from[0], source, threads_per_number);
#else
    uint64_t seen[WARPRSA_LANES_EMULATED];

    for (int k = 0; k < threads_per_request; k++)
        seen[k] = from[(k & ~(threads_per_number - 1)) + source];
    for (int k = 0; k < threads_per_request; k++)
        to[k] = seen[k];
#endif
}

/* Every lane gets the value of the lane `step` above it, cyclically within
 * its subgroup of `width`; step may be negative. */
WARPRSA_FN void warprsa_rotate(uint64_t *to, const uint64_t *from, int step,
                               const int threads_per_number,
                               const int threads_per_request)
{
#ifdef __CUDACC__
    (void)threads_per_request;
    to[0] = __shfl_sync(0xffffffffu, from[0],
                        (int)(threadIdx.x + (unsigned)step) &
                            (threads_per_number - 1),
                        threads_per_number);
#else
    uint64_t seen[WARPRSA_LANES_EMULATED];

    for (int k = 0; k < threads_per_request; k++)
        seen[k] = from[(k & ~(threads_per_number - 1)) +
                       ((k + step) & (threads_per_number - 1))];
    for (int k = 0; k < threads_per_request; k++)
        to[k] = seen[k];
#endif
}

/* The same with words of 32 bits: half the work. */
WARPRSA_FN void warprsa_broadcast_word(uint32_t *to, const uint32_t *from,
                                       int source, const int threads_per_number,
                                       const int threads_per_request)
{
#ifdef __CUDACC__
    (void)threads_per_request;
    to[0] = threads_per_number == 1
                ? from[0]
                : __shfl_sync(0xffffffffu, from[0], source, threads_per_number);
#else
    uint32_t seen[WARPRSA_LANES_EMULATED];

    for (int k = 0; k < threads_per_request; k++)
        seen[k] = from[(k & ~(threads_per_number - 1)) + source];
    for (int k = 0; k < threads_per_request; k++)
        to[k] = seen[k];
#endif
}

WARPRSA_FN void warprsa_rotate_word(uint32_t *to, const uint32_t *from,
                                    int step, const int threads_per_number,
                                    const int threads_per_request)
{
#ifdef __CUDACC__
    (void)threads_per_request;
    to[0] = threads_per_number == 1
                ? from[0]
                : __shfl_sync(0xffffffffu, from[0],
                              (int)(threadIdx.x + (unsigned)step) &
                                  (threads_per_number - 1),
                              threads_per_number);
#else
    uint32_t seen[WARPRSA_LANES_EMULATED];

    for (int k = 0; k < threads_per_request; k++)
        seen[k] = from[(k & ~(threads_per_number - 1)) +
                       ((k + step) & (threads_per_number - 1))];
    for (int k = 0; k < threads_per_request; k++)
        to[k] = seen[k];
#endif
}

/*
 * Carries of 0 or 1 through the lanes of each subgroup at once: a lane that
 * made one gives it to the lane above, which, if it is full (all ones), gives
 * one to the next; never both. What leaves the top lane is lost. On the device
 * as an addition of one bit a lane: what a carry runs through, it flips.
 */
WARPRSA_FN void warprsa_carry_in(uint32_t *in, const uint32_t *made,
                                 const uint32_t *full,
                                 const int threads_per_number,
                                 const int threads_per_request)
{
#ifdef __CUDACC__
    const uint32_t tops = 0xffffffffu / ((1u << threads_per_number) - 1)
                          << (threads_per_number - 1);
    uint32_t from = __ballot_sync(0xffffffffu, made[0] != 0) & ~tops;
    uint32_t through = __ballot_sync(0xffffffffu, full[0] != 0) & ~tops;

    (void)threads_per_request;
    in[0] = (((from << 1) + through) ^ through) >> (threadIdx.x & 31u) & 1;
#else
    uint32_t carry = 0;

    for (int k = 0; k < threads_per_request; k++) {
        uint32_t enters = (k & (threads_per_number - 1)) == 0 ? 0 : carry;

        carry = made[k] | (full[k] & enters);
        in[k] = enters;
    }
#endif
}

/* Nonzero in every lane of the group if it is in any of them. */
WARPRSA_FN uint32_t warprsa_any_in_group(const uint32_t *flag,
                                         const int threads_per_request)
{
#ifdef __CUDACC__
    uint32_t votes = __ballot_sync(0xffffffffu, flag[0] != 0);
    uint32_t first = (threadIdx.x & 31u) & ~(unsigned)(threads_per_request - 1);

    return (votes >> first) & (uint32_t)((1ull << threads_per_request) - 1);
#else
    uint32_t any = 0;

    for (int k = 0; k < threads_per_request; k++)
        any |= flag[k];
    return any;
#endif
}

/* For public values alone: the largest in the warp, so that requests of
 * different keys that share a warp take the same number of turns. */
WARPRSA_FN uint32_t warprsa_largest_in_warp(uint32_t value)
{
#ifdef __CUDACC__
    return __reduce_max_sync(0xffffffffu, value);
#else
    return value;
#endif
}

/* Stores of one lane become visible to the others of its warp. */
WARPRSA_FN void warprsa_sync_lanes(void)
{
#ifdef __CUDACC__
    __syncwarp();
#endif
}

#endif
