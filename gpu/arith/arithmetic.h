/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Selects the arithmetic that a source file is compiled with. There are three:
 *
 *   default              52-bit samples in double precision  (wide_sample.h)
 *   WARPRSA_BLOCK_ARITH  the same, with a Montgomery product that is
 *                        reduced block by block              (block_mont_mul.h)
 *   WARPRSA_INT32        32-bit limbs in integers            (int32_limb.h)
 *
 * All three declare the same names, so that one source of the private operation
 * (private_operation.h) compiles over each of them:
 *
 *   warprsa_sample_t        the type of one limb; in double precision it is
 *                           called a sample, the term of the wide-samples paper
 *   warprsa_sample_bits_t   the unsigned integer that a sample holds
 *   WARPRSA_SAMPLE_BITS     bits of a sample
 *   warprsa_sample()        integer to sample; a cast converts back
 *   warprsa_bits()          representation of a sample, for exchange between
 *   warprsa_from_bits()     lanes and for masks; and back
 *   warprsa_number          a number, spread over lanes
 *   warprsa_modulus         a modulus and the constants of its product
 *   warprsa_columns         column sums of a number, carries unresolved
 *   warprsa_mont_mul()      the Montgomery product, below 3P
 *   warprsa_mont_sqr()      the Montgomery square; not in block arithmetic
 *   warprsa_operation_key   a private key prepared for this arithmetic
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
