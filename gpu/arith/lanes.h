/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lanes: how one source computes on the device and on the host. A request is
 * computed by a group of threads_per_request lanes; a number is spread over a
 * subgroup of threads_per_number of them.
 *
 * On the device a lane is a thread of a warp, and a lane's variable lives in
 * registers of that thread. On the host one thread emulates all lanes: a lane's
 * variable is an array over the lanes, and each stretch of code between two
 * exchanges is a loop over them. WARPRSA_EACH_LANE writes such a loop; on the
 * device it runs once.
 *
 * All branches and loop counts here depend on sizes alone. The lanes of a warp
 * therefore never diverge, and every exchange may name the whole warp in its
 * mask.
 */
#ifndef WARPRSA_GPU_ARITH_LANES_H
#define WARPRSA_GPU_ARITH_LANES_H

#include <stdint.h>

#ifdef __CUDACC__
#define WARPRSA_FN             static __device__ __forceinline__
#define WARPRSA_NOINLINE_FN    static __device__ __noinline__
#define WARPRSA_LANES_EMULATED 1
#define WARPRSA_UNROLL         _Pragma("unroll")
#define WARPRSA_ROLLED         _Pragma("unroll 1")

#define WARPRSA_EACH_LANE(k, threads_per_request) for (int k = 0; k < 1; k++)
#else
#define WARPRSA_FN static inline
/*
 * Without the instruction fma() is a library call and three times slower. Where
 * the compiler may not count on it, as in tests, this compiles a function a
 * second time for processors that have it, and picks one when the program is
 * loaded. The choice needs an ifunc resolver, which the sanitizers do not
 * survive, and clang does not flatten the clones that it makes. Flattened
 * functions full of assertions (bound.h) would take minutes to compile.
 */
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) ||                     \
    defined(__SANITIZE_THREAD__) || !defined(__x86_64__) ||                    \
    defined(WARPRSA_VERIFY)
#define WARPRSA_WITH_FMA
#elif defined(__FMA__)
#define WARPRSA_WITH_FMA __attribute__((flatten))
#else
#define WARPRSA_WITH_FMA                                                       \
    __attribute__((target_clones("fma", "default"), flatten))
#endif
/* A function too long to be inlined in each of its callers. */
#define WARPRSA_NOINLINE_FN static __attribute__((noinline)) WARPRSA_WITH_FMA
#if defined(WARPRSA_BLOCK_ARITH) || defined(WARPRSA_LARGE)
#define WARPRSA_LANES_EMULATED 32
#else
#define WARPRSA_LANES_EMULATED 16
#endif
#define WARPRSA_UNROLL
#define WARPRSA_ROLLED
#define WARPRSA_EACH_LANE(k, threads_per_request)                              \
    for (int k = 0; k < (threads_per_request); k++)
#endif

/* Index of the lane within its group, 0..threads_per_request - 1. */
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

/* Index of the lane within its subgroup, 0..threads_per_number - 1. */
WARPRSA_FN int warprsa_lane_in_number(int k, const int threads_per_number,
                                      const int threads_per_request)
{
    return warprsa_lane(k, threads_per_request) & (threads_per_number - 1);
}

/* Every lane gets the value of lane `source` of its subgroup. to == from is
 * allowed, here and below. */
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

/* Every lane gets the value of the lane `step` above it, cyclically within its
 * subgroup; step may be negative. */
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

/* The same two exchanges for 32-bit words, which take half the instructions. A
 * number in one lane needs no exchange. */
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
 * Propagates carries of 0 or 1 through all lanes of each subgroup at once.
 * made[k] is 1 if lane k produces a carry. full[k] is 1 if all limbs of lane k
 * are all ones, so that a carry into it leaves it again. A lane is never both.
 * in[k] gets the carry that enters lane k; the carry out of a subgroup's top
 * lane is dropped.
 *
 * On the device this is one addition with a bit for each lane: adding the
 * carries (shifted up by one lane) to the mask of full lanes makes a carry
 * ripple through a run of full lanes and flips each bit on its way. What
 * differs from the mask is where a carry enters. The top lanes' bits are
 * cleared first, so that nothing crosses into the next subgroup.
 */
WARPRSA_FN void warprsa_carry_in(uint32_t *in, const uint32_t *made,
                                 const uint32_t *full,
                                 const int threads_per_number,
                                 const int threads_per_request)
{
#ifdef __CUDACC__
    /* 2u << 31 is 0: one subgroup of 32 lanes has one top. */
    const uint32_t tops = 0xffffffffu / ((2u << (threads_per_number - 1)) - 1)
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

/* Returns nonzero in every lane of the group if the flag is nonzero in any of
 * its lanes. */
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

/* The largest value in the warp. For public values only: requests with
 * different keys share a warp, and their loops over the public exponent must
 * take the same number of turns. The host emulates one request at a time. */
WARPRSA_FN uint32_t warprsa_largest_in_warp(uint32_t value)
{
#ifdef __CUDACC__
    return __reduce_max_sync(0xffffffffu, value);
#else
    return value;
#endif
}

/* Makes the stores of each lane visible to the other lanes of its warp. */
WARPRSA_FN void warprsa_sync_lanes(void)
{
#ifdef __CUDACC__
    __syncwarp();
#endif
}

#endif
