/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * pSHS with threads, against libcrypto; and its products against the
 * sequential ones.
 */
#include "bench/programs/papers/common/edges.h"
#include "bench/programs/papers/pshs/threads.h"

static int workers;

static void modexp(const papers_modexp *m, const uint32_t *base,
                   uint32_t *result)
{
    pshs_threads_modexp(workers, m, base, result);
}

static void check_squares(size_t bits)
{
    papers_modexp m;
    uint32_t x[PAPERS_WORDS_MAX], y[PAPERS_WORDS_MAX];

    papers_modexp_new(&m, bits, 1);
    papers_bases(&m, x, 1);
    memcpy(y, x, sizeof(y));
    pshs_threads_squares(0, &m, x, 3);
    pshs_threads_squares(workers, &m, y, 3);
    if (memcmp(x, y, m.words * sizeof(*x)) != 0)
        papers_fail("pshs: a square is wrong");
    papers_modexp_free(&m);
}

int main(void)
{
    for (workers = 1; workers <= 8; workers *= 2) {
        papers_check_edges("pshs", 510, 5, modexp);
        check_squares(1022);
        printf("%d workers: right\n", workers);
    }
    workers = 2;
    papers_check_edges("pshs", 510, 1, modexp);
    papers_check_edges("pshs", 2046, 3, modexp);
    papers_check_edges("pshs", 126, 0, modexp);
    return EXIT_SUCCESS;
}
