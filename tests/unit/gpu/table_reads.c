/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests which entries of a table are read: all of them, whatever the digit, or
 * the one that is needed if direct reads are allowed. Each entry has pages of
 * its own, and reading one that is protected is caught.
 */
#include "tests/unit/support/gpu_numbers.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    /* Makes entry e the pages from e * limbs_per_thread on: a page holds one
     * sample of all lanes. */
    PAGE = 65536,
    STRIDE = PAGE / sizeof(warprsa_sample_t),
    BYTES = WARPRSA_TABLE_SIZE * WARPRSA_LIMBS_PER_THREAD_MAX * PAGE,
    CAUGHT = 3,
};

static warprsa_sample_t *table;

static int set_up(void **state)
{
    table = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return table == MAP_FAILED;
}

static int tear_down(void **state)
{
    return munmap(table, BYTES);
}

/* A different number in each entry. */
static warprsa_sample_t sample_of(uint32_t entry, int lane, int i)
{
    return (
        warprsa_sample_t)((entry * WARPRSA_LANES_EMULATED + (uint32_t)lane) *
                              WARPRSA_LIMBS_PER_THREAD_MAX +
                          (uint32_t)i);
}

static void put_entries(const warprsa_operation *op, const number_view *view)
{
    for (uint32_t e = 0; e < WARPRSA_TABLE_SIZE; e++) {
        warprsa_number entry = {0};

        for (int k = 0; k < view->threads_per_request; k++)
            for (int i = 0; i < view->limbs_per_thread; i++)
                entry.of[k][i] = sample_of(e, k, i);
        warprsa_table_put(op, (int)e, &entry, view->limbs_per_thread,
                          view->threads_per_request);
    }
}

static int get_is_right(const warprsa_operation *op, const number_view *view,
                        uint32_t digit)
{
    uint32_t digits[WARPRSA_LANES_EMULATED];
    warprsa_number got;
    int right = 1;

    for (int k = 0; k < WARPRSA_LANES_EMULATED; k++)
        digits[k] = digit;
    warprsa_table_get(&got, op, digits, view->limbs_per_thread,
                      view->threads_per_request);
    for (int k = 0; k < view->threads_per_request; k++)
        for (int i = 0; i < view->limbs_per_thread; i++)
            right &= got.of[k][i] == sample_of(digit, k, i);
    return right;
}

static void caught(int signal)
{
    _exit(CAUGHT);
}

/* Reads entry `digit` while the entries in `hidden`, a bit for each, are
 * protected, in a process of its own. Whether it could. */
static int reads_without(uint32_t hidden, const warprsa_operation *op,
                         const number_view *view, uint32_t digit)
{
    const struct sigaction action = {.sa_handler = caught};
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        for (uint32_t e = 0; e < WARPRSA_TABLE_SIZE; e++)
            if ((hidden >> e & 1) != 0 &&
                mprotect(op->table +
                             e * (size_t)view->limbs_per_thread * STRIDE,
                         (size_t)view->limbs_per_thread * PAGE, PROT_NONE) != 0)
                _exit(EXIT_FAILURE);
        if (sigaction(SIGSEGV, &action, NULL) != 0)
            _exit(EXIT_FAILURE);
        _exit(get_is_right(op, view, digit) ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == EXIT_SUCCESS ||
                WEXITSTATUS(status) == CAUGHT);
    return WEXITSTATUS(status) == EXIT_SUCCESS;
}

TEST(scan_reads_every_entry)
{
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        const number_view view = number_view_of(2 * size);
        const warprsa_operation op = {.table = table, .table_stride = STRIDE};

        put_entries(&op, &view);
        for (uint32_t digit = 0; digit < WARPRSA_TABLE_SIZE; digit++)
            assert_true(get_is_right(&op, &view, digit));
        for (uint32_t e = 0; e < WARPRSA_TABLE_SIZE; e++)
            assert_false(reads_without(UINT32_C(1) << e, &op, &view,
                                       WARPRSA_TABLE_SIZE - 1 - e));
    }
}

TEST(direct_reads_the_entry_alone)
{
    for (int size = 0; size < NUMBER_SHAPES; size++) {
        const number_view view = number_view_of(2 * size);
        const warprsa_operation op = {
            .table = table, .table_stride = STRIDE, .direct_table_reads = true};

        put_entries(&op, &view);
        for (uint32_t digit = 0; digit < WARPRSA_TABLE_SIZE; digit++) {
            const uint32_t own = UINT32_C(1) << digit;

            assert_true(reads_without(~own, &op, &view, digit));
            assert_false(reads_without(own, &op, &view, digit));
        }
    }
}

RUN_TESTS(set_up, tear_down)
