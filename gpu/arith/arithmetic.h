/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic that a source file is compiled with: samples of 52 bits in
 * double precision, or limbs of 32 bits where WARPRSA_INT32 is defined. Both
 * give the same names, so that one source of an operation runs over either:
 *
 *   warprsa_sample_t        what a number is cut into ("sample" below)
 *   warprsa_sample_bits_t   the unsigned integer that a sample holds
 *   WARPRSA_SAMPLE_BITS     bits of a sample
 *   warprsa_sample()        integer to sample; a cast goes back
 *   warprsa_bits()          a sample's representation, and _from_bits() back
 *   warprsa_number, warprsa_modulus, warprsa_columns, over lanes
 *   warprsa_mont_mul()       the Montgomery product, below 3P
 *   warprsa_mont_sqr()        of a number by itself
 *   warprsa_operation_key   a key prepared for it
 */
#ifndef WARPRSA_GPU_ARITH_ARITHMETIC_H
#define WARPRSA_GPU_ARITH_ARITHMETIC_H

#ifdef WARPRSA_INT32
#include "gpu/arith/int32_limb.h"
#elif defined(WARPRSA_BLOCK_ARITH)
#include "gpu/arith/block_mont_mul.h"
#else
#include "gpu/arith/wide_sample.h"
#endif

#endif
