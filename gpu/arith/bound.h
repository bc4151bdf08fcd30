/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bounds that doc/arithmetic.md proves, as assertions. A build with
 * -Dverify=true (WARPRSA_VERIFY) looks at the numbers at each step on the host
 * and aborts at the first one that is out of its bounds. In other builds, and
 * in code for the device in all of them, nothing of this is compiled.
 *
 * These assertions branch on secrets, so such a build is for tests alone.
 */
#ifndef WARPRSA_GPU_ARITH_BOUND_H
#define WARPRSA_GPU_ARITH_BOUND_H

#if defined(WARPRSA_VERIFY) && !defined(__CUDACC__)
#define WARPRSA_VERIFIES 1

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline, cold, noreturn, unused)) void
warprsa_bound_broken(const char *file, int line, const char *lemma,
                     const char *expression)
{
    fprintf(stderr, "%s:%d: %s: broken bound: %s\n", file, line, lemma,
            expression);
    abort();
}

/* Aborts unless `expression` holds. `lemma` is a heading of doc/arithmetic.md
 * or, after a colon, a paragraph under it that has a name. */
#define WARPRSA_BOUND(lemma, expression)                                       \
    ((expression)                                                              \
         ? (void)0                                                             \
         : warprsa_bound_broken(__FILE__, __LINE__, lemma, #expression))
/* A declaration or statement that only the assertions need. */
#define WARPRSA_VERIFY_ONLY(...) __VA_ARGS__

/* Whether |x| <= most, for an integer in two's complement. */
static inline int warprsa_is_within(uint64_t x, uint64_t most)
{
    return ((int64_t)x < 0 ? 0 - x : x) <= most;
}

/* The integer that lies between a double and the power of two or the multiple
 * of it that its high or low half was counted from. Doubles are encoded in
 * order, so this holds beyond the end of a binade, too. */
static inline int64_t warprsa_counted_from(double half, double base)
{
    int64_t bits, from;

    memcpy(&bits, &half, sizeof(bits));
    memcpy(&from, &base, sizeof(from));
    return bits - from;
}

/* Whether t and v are integers, and the halves of t v, counted from `base` and
 * from 2^52, are exactly their product. */
static inline int warprsa_halves_are_exact(double t, double v, double high,
                                           double low, double base)
{
    const int64_t a = (int64_t)t, b = (int64_t)v;

    return (double)a == t && (double)b == v &&
           (__int128)a * b ==
               ((__int128)1 << 52) * warprsa_counted_from(high, base) +
                   warprsa_counted_from(low, 0x1p52);
}

#else
#define WARPRSA_BOUND(lemma, expression) ((void)0)
#define WARPRSA_VERIFY_ONLY(...)
#endif

#endif
