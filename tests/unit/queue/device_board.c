/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What callers may know of a queue's devices, by a table.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/queue/device_board.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Devices 0 and 1 take 4 and 6 classes, device 2 are the CPUs and take 5. */
TEST(devices_are_summed_up)
{
    enum {
        DOWN = WARPRSA_QUEUE_DOWN,
        STARTING = WARPRSA_QUEUE_STARTING,
        READY = WARPRSA_QUEUE_READY,
        NONE = WARPRSA_CPUS_NONE,
        ALONE = WARPRSA_CPUS_ALONE,
        BESIDE = WARPRSA_CPUS_BESIDE,
    };
    static const struct {
        uint32_t ready, opening;
        bool closing;
        int state;
        unsigned classes, others_classes;
        int cpus;
    } table[] = {
        {0, 0, false, DOWN, 0, 0, NONE},    {0, 1, false, STARTING, 0, 0, NONE},
        {0, 1, true, DOWN, 0, 0, NONE},     {1, 0, false, READY, 4, 4, NONE},
        {1, 6, false, READY, 4, 4, NONE},   {2, 0, false, READY, 6, 6, NONE},
        {3, 0, false, READY, 6, 6, NONE},   {4, 3, false, READY, 5, 0, ALONE},
        {5, 0, false, READY, 5, 4, BESIDE}, {6, 0, false, READY, 6, 6, BESIDE},
        {7, 0, true, DOWN, 6, 6, BESIDE},
    };

    for (size_t t = 0; t < COUNT(table); t++) {
        const warprsa_board_facts facts = {
            .ready = table[t].ready,
            .opening = table[t].opening,
            .on_cpus = 4,
            .classes = {4, 6, 5},
            .closing = table[t].closing,
        };
        const warprsa_board_summary sum = warprsa_board_sum_up(&facts);

        assert_int_equal(sum.state, table[t].state);
        assert_int_equal(sum.classes, table[t].classes);
        assert_int_equal(sum.others_classes, table[t].others_classes);
        assert_int_equal(sum.cpus, table[t].cpus);
    }
}

/* A caller that reads the state and then the classes, at any moment. */
static void look(void *arg, const warprsa_board_summary *summary)
{
    const warprsa_device_board *board = arg;

    (void)summary;
    if (atomic_load(&board->state) == WARPRSA_QUEUE_READY)
        assert_int_not_equal(atomic_load(&board->classes), 0);
}

/* Whoever sees a ready device sees its classes, also at the moment when it is
 * lost: else a key would count as one that no device supports. */
TEST(classes_of_a_device_that_is_lost)
{
    static const warprsa_engine small = {.classes = 4}, large = {.classes = 6};
    static const warprsa_queue_engine from[] = {{.engine = &small},
                                                {.engine = &large}};
    warprsa_counters *counters = warprsa_counters_new();
    warprsa_device_board board = {0};

    assert_non_null(counters);
    assert_true(warprsa_board_init(&board, counters, look, &board));
    assert_int_equal(board.classes, 0);
    warprsa_board_up(&board, 0, &from[0], "small");
    warprsa_board_up(&board, 1, &from[1], "large");
    assert_int_equal(board.classes, 6);
    warprsa_board_down(&board, 1, "lost");
    assert_int_equal(board.state, WARPRSA_QUEUE_READY);
    assert_int_equal(board.classes, 4);
    warprsa_board_down(&board, 0, "lost");
    assert_int_equal(board.state, WARPRSA_QUEUE_DOWN);
    assert_int_equal(board.classes, 4);
    warprsa_board_up(&board, 1, &from[1], "large");
    assert_int_equal(board.classes, 6);
    warprsa_board_free(&board);
    warprsa_counters_free(counters);
}

RUN_TESTS(NULL, NULL)
