/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules by which devices take requests, by tables.
 */
#include "tests/unit/support/unit_test.h"

#include "batching/queue/scheduling_rules.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

TEST(waits_for_cpus_are_averaged)
{
    static const struct {
        uint32_t average;
        uint64_t cpu_ns, elapsed_ns;
        uint32_t expected;
    } table[] = {
        {0, 1000, 1000, 0},
        {0, 0, 0, 0},
        {0, 1001, 1000, 0}, /* the clocks differ a little */
        {0, 500, 1000, 4096},
        {0, 0, 1000, 8192}, /* as much as CONTENDED, at once */
        {65536, 0, 1000, 65536},
        {65536, 1000, 1000, 57344},
        {8192, 875, 1000, 8192},
        {8192, 0, 1u << 31, 15360},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(warprsa_rule_waits_for_cpu(table[t].average,
                                                    table[t].cpu_ns,
                                                    table[t].elapsed_ns),
                         table[t].expected);
}

TEST(sixteen_groups_under_way_are_plenty)
{
    static const struct {
        unsigned granularity;
        uint32_t running;
        bool expected;
    } table[] = {
        {64, 0, false},      {64, 1023, false},   {64, 1024, true},
        {64, 8192, true},    {8, 127, false},     {8, 128, true},
        {1, 1000000, false}, {0, 1000000, false},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(
            warprsa_rule_has_plenty(table[t].granularity, table[t].running),
            table[t].expected);
}

/* Of classes of which many batches are best under way, and few. */
TEST(batches_wait_for_several_of_each_key)
{
    static const struct {
        unsigned granularity;
        warprsa_rule_batch best;
        warprsa_rule_load load; /* queued, running, keys, often */
        uint32_t expected;
    } table[] = {
        /* An engine without groups, and a device with little to do. */
        {1, {24, 8}, {4096, 4096, 1, 1}, 0},
        {0, {24, 8}, {4096, 4096, 1, 1}, 0},
        {64, {24, 8}, {8000, 127, 1, 1}, 0},
        {64, {24, 8}, {8000, 0, 0, 0}, 0},
        /* 40 keys: eight of each, or as many as are under way. */
        {64, {24, 8}, {112, 400, 40, 40}, 320},
        {64, {24, 8}, {256, 256, 40, 33}, 256},
        {64, {24, 8}, {300, 200, 40, 21}, 200},
        {64, {24, 8}, {300, 200, 40, 20}, 20},
        {64, {24, 8}, {300, 700, 40, 40}, 320},
        {64, {4, 8}, {300, 700, 40, 40}, 320},
        {64, {4, 8}, {2192, 6000, 40, 40}, 2048},
        /* The same with five of each. */
        {64, {24, 5}, {112, 400, 40, 40}, 200},
        {64, {24, 5}, {256, 199, 40, 20}, 18},
        {64, {24, 5}, {312, 200, 40, 29}, 200},
        /* A thousand keys by Zipf's law: few have several. */
        {64, {24, 5}, {596, 3500, 653, 117}, 170},
        {64, {24, 5}, {1229, 6963, 835, 230}, 341},
        {64, {24, 5}, {596, 3500, 653, 327}, 3265},
        /* One key. */
        {64, {24, 8}, {256, 256, 1, 1}, 21},
        {64, {24, 8}, {76, 1024, 1, 1}, 64},
        {64, {24, 8}, {1192, 7000, 1, 1}, 341},
        {64, {4, 8}, {1192, 7000, 1, 1}, 2048},
        {64, {4, 8}, {7192, 1000, 1, 1}, 1000},
        /* More keys than requests. */
        {64, {4, 8}, {0, 65536, UINT32_MAX, 0}, 16384},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(warprsa_rule_enough(table[t].granularity,
                                             table[t].best, table[t].load),
                         table[t].expected);
}

/* A class waits for what is under way of it, and for nothing of another one. */
TEST(each_class_waits_for_itself)
{
    static const struct {
        unsigned granularity;
        warprsa_rule_load loads[4]; /* queued, running, keys, often */
        uint32_t expected;          /* a bit for each class */
    } table[] = {
        /* A single request beside a long batch of long keys. */
        {64, {{0}, {1, 0, 0, 0}, {0}, {0, 2048, 8, 8}}, 7},
        {64, {{0}, {1, 127, 8, 8}, {0}, {1, 2048, 8, 8}}, 7},
        {64, {{0}, {1, 128, 8, 8}, {0}, {1, 0, 0, 0}}, 13},
        /* Two that are busy: each with its own keys. */
        {64, {{0}, {40, 400, 8, 8}, {0}, {511, 6000, 8, 8}}, 7},
        {64, {{0}, {39, 400, 8, 8}, {0}, {1627, 6000, 8, 8}}, 5},
        {64, {{0}, {39, 400, 8, 8}, {0}, {2000, 6000, 8, 8}}, 13},
        /* An engine without groups. */
        {1, {{0}, {1, 400, 8, 8}, {0}, {1, 6000, 8, 8}}, 15},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(
            warprsa_rule_classes(table[t].granularity, table[t].loads, 4),
            table[t].expected);
}

TEST(fewer_and_fuller_batches_of_longer_keys)
{
    for (unsigned size = 1; size < 8; size++) {
        const warprsa_rule_batch shorter = warprsa_rule_batch_of(size - 1);
        const warprsa_rule_batch best = warprsa_rule_batch_of(size);

        assert_true(best.under_way <= shorter.under_way);
        assert_true(best.of_a_key >= shorter.of_a_key);
    }
    assert_int_equal(warprsa_rule_batch_of(1).under_way, 24);
    assert_int_equal(warprsa_rule_batch_of(1).of_a_key, 5);
    assert_int_equal(warprsa_rule_batch_of(2).under_way, 8);
    assert_int_equal(warprsa_rule_batch_of(2).of_a_key, 8);
    assert_int_equal(warprsa_rule_batch_of(7).under_way, 4);
}

TEST(a_batch_has_whole_groups)
{
    static const struct {
        bool has_plenty;
        uint32_t waiting, most, expected;
    } table[] = {
        {false, 100, 8192, 8192}, {true, 100, 8192, 64},
        {true, 64, 8192, 64},     {true, 127, 8192, 64},
        {true, 128, 8192, 128},   {true, 63, 8192, 8192},
        {true, 0, 8192, 8192},    {true, 8191, 8192, 8128},
        {true, 8192, 8192, 8192}, {true, 9000, 8192, 8192},
        {true, 100, 50, 50},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(warprsa_rule_whole_groups(table[t].has_plenty, 64,
                                                   table[t].waiting,
                                                   table[t].most),
                         table[t].expected);
}

TEST(idle_devices_share)
{
    static const struct {
        uint32_t devices, waiting, most, expected;
    } table[] = {
        {2, 0, 8192, 512},        {2, 1000, 8192, 512},
        {2, 1022, 8192, 512},     {2, 1024, 8192, 513},
        {2, 4000, 8192, 2001},    {2, 100000, 8192, 8192},
        {16, 100000, 8192, 6251}, {2, 4000, 8, 8},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(warprsa_rule_share(table[t].devices, table[t].waiting,
                                            table[t].most),
                         table[t].expected);
}

/* Of the others: how many classes they take, and when their pause ends. The
 * time is 10. */
TEST(one_that_pauses_leaves_requests_to_another)
{
    static const struct {
        unsigned classes;
        warprsa_rule_other others[3];
        bool expected;
    } table[] = {
        {4, {{0}}, false},
        {4, {{4, 0}}, true},
        {4, {{6, 0}}, true},
        {4, {{3, 0}}, false}, /* it takes less */
        {4, {{4, 11}}, false},
        {4, {{4, 10}}, true}, /* its pause is over */
        {4, {{4, 11}, {0, 0}, {6, 9}}, true},
        {4, {{4, 11}, {0, 0}, {3, 9}}, false},
        {0, {{0}}, false},
    };

    for (size_t t = 0; t < COUNT(table); t++)
        assert_int_equal(
            warprsa_rule_stands_aside(table[t].classes, table[t].others, 3, 10),
            table[t].expected);
}

RUN_TESTS(NULL, NULL)
