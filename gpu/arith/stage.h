/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * WARPRSA_STAGE(NAME), the first line of a function, says to which stage of a
 * private operation its time is charged, but for that of functions within it
 * that say the same. WARPRSA_STAGE_OF_STEP() is its like for what goes through
 * a script: it holds until the next step. They are nothing, unless a benchmark
 * that measures the stages' shares (tests/bench/stage_clocks.cuh) has defined
 * them before.
 */
#ifndef WARPRSA_GPU_ARITH_STAGE_H
#define WARPRSA_GPU_ARITH_STAGE_H

#ifndef WARPRSA_STAGE
#define WARPRSA_STAGE(name)
#define WARPRSA_STAGE_OF_STEP(step, powers_to_come)
#endif

#endif
