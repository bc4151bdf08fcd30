/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * WARPRSA_STAGE(NAME), the first line of a function, says to which stage of a
 * private operation its time is charged, but for that of functions within it
 * that say the same. It is nothing, unless a benchmark that measures the
 * stages' shares (tests/bench/stage_clocks.cuh) has defined it before.
 */
#ifndef WARPRSA_STAGE_H
#define WARPRSA_STAGE_H

#ifndef WARPRSA_STAGE
#define WARPRSA_STAGE(name)
#endif

#endif
