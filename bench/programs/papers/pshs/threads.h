/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * pSHS with threads of a CPU as its workers, and the sequential product by
 * separated operand scanning that the paper compares it with.
 */
#ifndef WARPRSA_PAPERS_PSHS_THREADS_H
#define WARPRSA_PAPERS_PSHS_THREADS_H

#include "bench/programs/papers/common/number.h"
#include "bench/programs/papers/pshs/pshs.h"

typedef void pshs_work(pshs_worker *w, void *arg);

/* Calls `work` in p threads for the modulus of m, whose words p divides at
 * least twice. */
void pshs_threads(int p, const papers_modexp *m, pshs_work *work, void *arg);

/* result <- base^e mod N with p threads. */
void pshs_threads_modexp(int p, const papers_modexp *m, const uint32_t *base,
                         uint32_t *result);

/* x <- x^(2^count) / R^(2^count - 1) mod N: `count` products, each a square,
 * with p threads; with p = 0 by the sequential product. Returns the seconds of
 * a product. */
double pshs_threads_squares(int p, const papers_modexp *m, uint32_t *x,
                            int count);

#endif
