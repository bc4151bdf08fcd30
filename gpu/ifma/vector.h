/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Eight lanes of 64 bits, one for each of eight requests, and what the
 * arithmetic of gpu/ifma does with them. Compiled with AVX-512 IFMA a vector is
 * a register, and the two products are instructions (vpmadd52luq, vpmadd52huq).
 * With WARPRSA_IFMA_PORTABLE the same source is plain C: it runs on every
 * processor, and under valgrind, which has no AVX-512.
 */
#ifndef WARPRSA_GPU_IFMA_VECTOR_H
#define WARPRSA_GPU_IFMA_VECTOR_H

#include "gpu/arith/wide_sample.h"

#ifndef WARPRSA_IFMA_PORTABLE
#include <immintrin.h>
#endif

#define WARPRSA_LANES WARPRSA_IFMA_LANES

/* Vectors of the compiler: + - & | ^ << >> and comparisons work lane by lane;
 * a comparison gives -1 or 0 in each lane. */
typedef uint64_t warprsa_vector __attribute__((vector_size(64)));
typedef int64_t warprsa_signed_vector __attribute__((vector_size(64)));

/* Where the time does not count, and in builds with sanitizers, whose code for
 * thousands of products in a row would take minutes to compile, loops stay
 * loops; likewise with assertions in them. */
#ifdef __has_feature
#define WARPRSA_SANITIZED                                                      \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WARPRSA_SANITIZED 1
#else
#define WARPRSA_SANITIZED 0
#endif
#if defined(WARPRSA_IFMA_PORTABLE) || WARPRSA_SANITIZED ||                     \
    defined(WARPRSA_VERIFIES) || !defined(__OPTIMIZE__)
#define WARPRSA_VECTOR_FN static inline
#define WARPRSA_UNROLLED
#define WARPRSA_LOOPED
#else
/* Each caller gets a copy, so that what is constant to it is in here, too. */
#define WARPRSA_VECTOR_FN static inline __attribute__((always_inline))
#ifdef __clang__
#define WARPRSA_UNROLLED _Pragma("clang loop unroll(full)")
#define WARPRSA_LOOPED   _Pragma("clang loop unroll(disable)")
#else
#define WARPRSA_UNROLLED _Pragma("GCC unroll 64")
#define WARPRSA_LOOPED   _Pragma("GCC unroll 1")
#endif
#endif

/* Keeps the compiler from knowing what x points to, hence from keeping in
 * registers what it has loaded from there. Numbers have more samples than there
 * are registers: the accumulators of a product must have them. */
#define WARPRSA_RELOAD(x) __asm__ volatile("" : "+r"(x))

#ifndef WARPRSA_IFMA_PORTABLE
/* sum + the low 52 bits of a b. Only the low 52 bits of a and b count: what a
 * sample has above them need not be cut off. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_add_low(warprsa_vector sum,
                                                 warprsa_vector a,
                                                 warprsa_vector b)
{
    return (warprsa_vector)_mm512_madd52lo_epu64((__m512i)sum, (__m512i)a,
                                                 (__m512i)b);
}

/* sum + the high 52 bits of a b. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_add_high(warprsa_vector sum,
                                                  warprsa_vector a,
                                                  warprsa_vector b)
{
    return (warprsa_vector)_mm512_madd52hi_epu64((__m512i)sum, (__m512i)a,
                                                 (__m512i)b);
}

/* A set of lanes, in a register for masks. */
typedef __mmask8 warprsa_lanes;

/* The lanes where a is *number. Volatile, since compilers would rather hold a
 * mask in a general register than make it anew, which takes as long. */
WARPRSA_VECTOR_FN warprsa_lanes warprsa_lanes_where(warprsa_vector a,
                                                    const uint64_t *number)
{
    warprsa_lanes here;

    __asm__ volatile("vpcmpeqq %2%{1to8%}, %1, %0"
                     : "=Yk"(here)
                     : "v"(a), "m"(*number));
    return here;
}

/* In these lanes: *kept becomes *even where its bits are zero, *odd where they
 * are ones. In one piece, since compilers prefer to hold masks in general
 * registers. */
WARPRSA_VECTOR_FN void warprsa_keep(warprsa_vector *kept, warprsa_lanes here,
                                    const warprsa_vector *even,
                                    const warprsa_vector *odd)
{
    warprsa_vector first;

    __asm__("vmovdqa64 %3, %1\n\t"
            "vpternlogq $0xac, %4, %1, %0%{%2%}"
            : "+&v"(*kept), "=&v"(first)
            : "Yk"(here), "m"(*even), "m"(*odd));
}

/* One load into a register, for all products that need it. If each product had
 * the load as its own operand, there would be as many loads as products. */
#define WARPRSA_LOADED(x) __asm__("" : "+v"(x))
#else
WARPRSA_VECTOR_FN warprsa_vector warprsa_add_low(warprsa_vector sum,
                                                 warprsa_vector a,
                                                 warprsa_vector b)
{
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        sum[lane] += ((a[lane] & WARPRSA_SAMPLE_MASK) *
                      (b[lane] & WARPRSA_SAMPLE_MASK)) &
                     WARPRSA_SAMPLE_MASK;
    return sum;
}

WARPRSA_VECTOR_FN warprsa_vector warprsa_add_high(warprsa_vector sum,
                                                  warprsa_vector a,
                                                  warprsa_vector b)
{
    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        sum[lane] +=
            (uint64_t)(((unsigned __int128)(a[lane] & WARPRSA_SAMPLE_MASK) *
                        (b[lane] & WARPRSA_SAMPLE_MASK)) >>
                       WARPRSA_SAMPLE_BITS);
    return sum;
}

typedef warprsa_vector warprsa_lanes;

WARPRSA_VECTOR_FN warprsa_lanes warprsa_lanes_where(warprsa_vector a,
                                                    const uint64_t *number)
{
    return (warprsa_vector)(a == *number - (warprsa_vector){0});
}

WARPRSA_VECTOR_FN void warprsa_keep(warprsa_vector *kept, warprsa_lanes here,
                                    const warprsa_vector *even,
                                    const warprsa_vector *odd)
{
    *kept = (((*even & ~*kept) | (*odd & *kept)) & here) | (*kept & ~here);
}

#define WARPRSA_LOADED(x) (void)(x)
#endif

#ifdef WARPRSA_VERIFIES
/* Whether `count` vectors are below `bound` in each lane; in two's complement
 * within it, if they are signed. */
static inline int warprsa_vectors_hold(const warprsa_vector *x, int count,
                                       uint64_t bound, int is_signed)
{
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < WARPRSA_LANES; lane++)
            if (is_signed ? !warprsa_is_within(x[i][lane], bound - 1)
                          : x[i][lane] >= bound)
                return 0;
    return 1;
}

/* The numbers that are `count` columns, divided by 2^bits. */
static inline warprsa_values warprsa_vector_values(const warprsa_vector *x,
                                                   int count, uint64_t mask,
                                                   int bits)
{
    const long double divisor = warprsa_power_of_two(bits);
    warprsa_values values = {{0}};

    for (int lane = 0; lane < WARPRSA_LANES; lane++) {
        for (int i = count - 1; i >= 0; i--)
            values.of[lane] = values.of[lane] * 0x1p52L + (x[i][lane] & mask);
        values.of[lane] /= divisor;
    }
    return values;
}

/* Whether x < more + times P in each lane. */
static inline int warprsa_vectors_are_below(const warprsa_vector *x,
                                            const warprsa_values *more,
                                            long double times,
                                            const warprsa_vector *p, int limbs)
{
    const warprsa_values a =
        warprsa_vector_values(x, limbs, WARPRSA_SAMPLE_MASK, 0);
    const warprsa_values b = warprsa_vector_values(p, limbs, UINT64_MAX, 0);

    for (int lane = 0; lane < WARPRSA_LANES; lane++)
        if (!(a.of[lane] < (more != NULL ? more->of[lane] : 0) +
                               (times + 0x1p-40L) * b.of[lane]))
            return 0;
    return 1;
}
#endif

/* The integer that a sample in double precision holds. To a signed integer that
 * is an instruction on every processor; to an unsigned one x86-64 needs a
 * branch on the sample. */
WARPRSA_VECTOR_FN uint64_t warprsa_integer(double sample)
{
    return (uint64_t)(int64_t)sample;
}

/* The same number in every lane. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_broadcast_lane(uint64_t x)
{
    return x - (warprsa_vector){0};
}

/* floor(x / 2^52) of a number in two's complement. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_signed_carry(warprsa_vector x)
{
    return (warprsa_vector)((warprsa_signed_vector)x >> WARPRSA_SAMPLE_BITS);
}

/* All ones in the lanes where x is negative. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_negative(warprsa_vector x)
{
    return (warprsa_vector)((warprsa_signed_vector)x >> 63);
}

/* All ones in the lanes where a is b. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_equal(warprsa_vector a,
                                               warprsa_vector b)
{
    return (warprsa_vector)(a == b);
}

/* Each lane of a where the mask is all ones, of b where it is zero. */
WARPRSA_VECTOR_FN warprsa_vector warprsa_choose_lane(warprsa_vector mask,
                                                     warprsa_vector a,
                                                     warprsa_vector b)
{
    return (a & mask) | (b & ~mask);
}

#endif
