/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Marks which stage of a private operation a stretch of code belongs to, for a
 * benchmark that measures the share of each stage
 * (bench/programs/stage_clocks.cuh). That benchmark defines the macros before
 * it includes the kernels. In all other builds they expand to nothing.
 *
 * WARPRSA_STAGE(NAME) is the first line of a function. The time of the function
 * is charged to stage NAME, except for the time of functions it calls that name
 * a stage themselves.
 *
 * WARPRSA_STAGE_OF_INSTRUCTION(instruction, powers_to_come) does the same for
 * the kernels that run a program of instructions: it holds until the next one.
 */
#ifndef WARPRSA_GPU_ARITH_STAGE_H
#define WARPRSA_GPU_ARITH_STAGE_H

#ifndef WARPRSA_STAGE
#define WARPRSA_STAGE(name)
#define WARPRSA_STAGE_OF_INSTRUCTION(instruction, powers_to_come)
#endif

#endif
