/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Additions and multiply-adds of words whose carry goes from one to the next,
 * under the names that PTX has for them. On the device the carry is the flag of
 * the instructions, and a multiply-add of a low half followed by that of the
 * high half becomes one IMAD.WIDE. On the host it is a variable.
 *
 * A function of a name that ends in _cc leaves a carry, or a borrow, and one of
 * madc, addc and subc takes what was left. The others leave nothing:
 * warprsa_addc() and warprsa_subc() count modulo 2^32, and warprsa_last_*() are
 * the ends of chains that no carry leaves.
 */
#ifndef WARPRSA_GPU_KERNELS_INT32_FOLD_CARRY_H
#define WARPRSA_GPU_KERNELS_INT32_FOLD_CARRY_H

#include "gpu/arith/bound.h"
#include "gpu/arith/lanes.h"

/* The carry; on the device nothing. */
typedef struct warprsa_carry {
    uint32_t flag;
} warprsa_carry;

#ifdef __CUDACC__

#define WARPRSA_CARRY_OF_THREE(name, instruction)                              \
    WARPRSA_FN uint32_t name(warprsa_carry *, uint32_t a, uint32_t b,          \
                             uint32_t c)                                       \
    {                                                                          \
        uint32_t r;                                                            \
                                                                               \
        asm volatile(instruction " %0, %1, %2, %3;"                            \
                     : "=r"(r)                                                 \
                     : "r"(a), "r"(b), "r"(c));                                \
        return r;                                                              \
    }
#define WARPRSA_CARRY_OF_TWO(name, instruction)                                \
    WARPRSA_FN uint32_t name(warprsa_carry *, uint32_t a, uint32_t b)          \
    {                                                                          \
        uint32_t r;                                                            \
                                                                               \
        asm volatile(instruction " %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));   \
        return r;                                                              \
    }

WARPRSA_CARRY_OF_THREE(warprsa_mad_lo_cc, "mad.lo.cc.u32")
WARPRSA_CARRY_OF_THREE(warprsa_madc_lo_cc, "madc.lo.cc.u32")
WARPRSA_CARRY_OF_THREE(warprsa_madc_hi_cc, "madc.hi.cc.u32")
WARPRSA_CARRY_OF_THREE(warprsa_last_madc_hi, "madc.hi.u32")
WARPRSA_CARRY_OF_TWO(warprsa_add_cc, "add.cc.u32")
WARPRSA_CARRY_OF_TWO(warprsa_addc_cc, "addc.cc.u32")
WARPRSA_CARRY_OF_TWO(warprsa_addc, "addc.u32")
WARPRSA_CARRY_OF_TWO(warprsa_last_addc, "addc.u32")
WARPRSA_CARRY_OF_TWO(warprsa_sub_cc, "sub.cc.u32")
WARPRSA_CARRY_OF_TWO(warprsa_subc_cc, "subc.cc.u32")
WARPRSA_CARRY_OF_TWO(warprsa_subc, "subc.u32")

#else

/* The lower word of a sum; the upper one is the carry. */
WARPRSA_FN uint32_t warprsa_carry_of(warprsa_carry *carry, uint64_t sum)
{
    carry->flag = (uint32_t)(sum >> 32);
    return (uint32_t)sum;
}

WARPRSA_FN uint32_t warprsa_mad_lo_cc(warprsa_carry *carry, uint32_t a,
                                      uint32_t b, uint32_t c)
{
    return warprsa_carry_of(carry, (uint64_t)(a * b) + c);
}

WARPRSA_FN uint32_t warprsa_madc_lo_cc(warprsa_carry *carry, uint32_t a,
                                       uint32_t b, uint32_t c)
{
    return warprsa_carry_of(carry, (uint64_t)(a * b) + c + carry->flag);
}

WARPRSA_FN uint32_t warprsa_madc_hi_cc(warprsa_carry *carry, uint32_t a,
                                       uint32_t b, uint32_t c)
{
    return warprsa_carry_of(carry, ((uint64_t)a * b >> 32) + c + carry->flag);
}

WARPRSA_FN uint32_t warprsa_add_cc(warprsa_carry *carry, uint32_t a, uint32_t b)
{
    return warprsa_carry_of(carry, (uint64_t)a + b);
}

WARPRSA_FN uint32_t warprsa_addc_cc(warprsa_carry *carry, uint32_t a,
                                    uint32_t b)
{
    return warprsa_carry_of(carry, (uint64_t)a + b + carry->flag);
}

WARPRSA_FN uint32_t warprsa_addc(warprsa_carry *carry, uint32_t a, uint32_t b)
{
    return a + b + carry->flag;
}

/* A borrow is 1, as a carry is. */
WARPRSA_FN uint32_t warprsa_borrow_of(warprsa_carry *carry, uint64_t difference)
{
    carry->flag = (uint32_t)(difference >> 32) & 1;
    return (uint32_t)difference;
}

WARPRSA_FN uint32_t warprsa_sub_cc(warprsa_carry *carry, uint32_t a, uint32_t b)
{
    return warprsa_borrow_of(carry, (uint64_t)a - b);
}

WARPRSA_FN uint32_t warprsa_subc_cc(warprsa_carry *carry, uint32_t a,
                                    uint32_t b)
{
    return warprsa_borrow_of(carry, (uint64_t)a - b - carry->flag);
}

WARPRSA_FN uint32_t warprsa_subc(warprsa_carry *carry, uint32_t a, uint32_t b)
{
    return a - b - carry->flag;
}

WARPRSA_FN uint32_t warprsa_last_madc_hi(warprsa_carry *carry, uint32_t a,
                                         uint32_t b, uint32_t c)
{
    const uint32_t r = warprsa_madc_hi_cc(carry, a, b, c);

    WARPRSA_BOUND("The fold in integers: Chains", carry->flag == 0);
    return r;
}

WARPRSA_FN uint32_t warprsa_last_addc(warprsa_carry *carry, uint32_t a,
                                      uint32_t b)
{
    const uint32_t r = warprsa_addc_cc(carry, a, b);

    WARPRSA_BOUND("The fold in integers: Chains", carry->flag == 0);
    return r;
}

#endif

#endif
