/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which engines a queue gets by configuration, on machines that the test makes
 * up.
 */
#include "tests/unit/support/unit_test.h"

#include <stdio.h>
#include <string.h>

#include "batching/base/usable_cpus.h"
#include "batching/queue/engines.h"

/* The machine: whether the engine of GPUs is installed, and its CPUs the
 * instructions for that of CPUs. */
static bool has_cuda, has_ifma;

static unsigned ifma_count(char *why, size_t why_size)
{
    if (!has_ifma)
        snprintf(why, why_size, "no instructions");
    return has_ifma ? 1 : 0;
}

static const warprsa_engine cuda = {.name = "cuda", .granularity = 64};
static const warprsa_engine host = {.name = "host"};
static const warprsa_engine ifma = {.name = "ifma", .count = ifma_count};

const warprsa_engine *warprsa_engine_cuda(void)
{
    return &cuda;
}

bool warprsa_engine_cuda_is_installed(char *why, size_t why_size)
{
    if (!has_cuda)
        snprintf(why, why_size, "no CUDA library is installed: /nowhere");
    return has_cuda;
}

const warprsa_engine *warprsa_engine_host(void)
{
    return &host;
}

const warprsa_engine *warprsa_engine_ifma(void)
{
    return &ifma;
}

unsigned warprsa_hardware_queues(unsigned wanted)
{
    return wanted;
}

/* What a daemon asks for. */
static warprsa_engines_wanted wanted_by_daemon(void)
{
    return (warprsa_engines_wanted){
        .engine = WARPRSA_ENGINE_AUTO,
        .devices = UINT32_MAX,
        .streams = 8,
        .batch_max = 8192,
        .cpu_threads = 3,
    };
}

/* Checks the engines' names. */
static void are_chosen(const warprsa_engines_wanted *wanted,
                       const char *expected)
{
    warprsa_queue_config config = {0};
    char names[64] = "", why[128];

    assert_int_equal(warprsa_engines_choose(wanted, &config, why, sizeof(why)),
                     expected[0] != '\0');
    for (unsigned e = 0; e < config.engine_count; e++) {
        const warprsa_queue_engine *engine = &config.engines[e];
        const size_t length = strlen(names);

        snprintf(names + length, sizeof(names) - length, "%s%s",
                 e > 0 ? " " : "", engine->engine->name);
        assert_int_equal(engine->on_cpus, engine->engine == &ifma);
    }
    assert_string_equal(names, expected);
}

TEST(the_machine_and_the_name_choose)
{
    warprsa_engines_wanted wanted = wanted_by_daemon();

    has_cuda = has_ifma = true;
    are_chosen(&wanted, "cuda ifma");
    has_ifma = false;
    are_chosen(&wanted, "cuda");
    has_cuda = false;
    are_chosen(&wanted, "");
    has_ifma = true;
    are_chosen(&wanted, "ifma");
    has_cuda = true;
    wanted.engine = WARPRSA_ENGINE_CUDA;
    are_chosen(&wanted, "cuda");
    wanted.engine = WARPRSA_ENGINE_IFMA;
    are_chosen(&wanted, "ifma");
    wanted.engine = WARPRSA_ENGINE_HOST;
    are_chosen(&wanted, "host");
}

TEST(threads_of_cpus_are_bounded)
{
    warprsa_engines_wanted wanted = wanted_by_daemon();
    warprsa_queue_config config = {0};
    char why[128];

    has_cuda = has_ifma = true;
    assert_true(warprsa_engines_choose(&wanted, &config, why, sizeof(why)));
    assert_int_equal(config.engines[1].streams, 3);
    wanted.cpu_threads = WARPRSA_CPU_THREADS_AUTO;
    assert_true(warprsa_engines_choose(&wanted, &config, why, sizeof(why)));
    assert_int_equal(config.engines[1].streams, warprsa_usable_cpus());
    assert_int_equal(config.engines[1].batch_max, WARPRSA_IFMA_LANES);
    wanted.cpu_threads = 0;
    are_chosen(&wanted, "cuda");
}

/* More streams have shorter batches, in whole groups of 64, so that all take as
 * much memory as 8. A number that somebody asks for stays. */
TEST(streams_share_the_requests)
{
    static const struct {
        unsigned streams, batch_max;
    } cases[] = {{1, 8192},  {2, 8192},  {8, 8192}, {9, 7232},
                 {16, 4096}, {24, 2688}, {32, 2048}};
    warprsa_engines_wanted wanted = wanted_by_daemon();
    warprsa_queue_config config = {0};
    char why[128];

    has_cuda = has_ifma = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        wanted.streams = cases[i].streams;
        wanted.batch_max = WARPRSA_BATCH_MAX_AUTO;
        assert_true(warprsa_engines_choose(&wanted, &config, why, sizeof(why)));
        assert_int_equal(config.engines[0].streams, cases[i].streams);
        assert_int_equal(config.engines[0].batch_max, cases[i].batch_max);
        wanted.batch_max = 5000;
        assert_true(warprsa_engines_choose(&wanted, &config, why, sizeof(why)));
        assert_int_equal(config.engines[0].batch_max, 5000);
    }
    assert_int_equal(config.engines[1].batch_max, WARPRSA_IFMA_LANES);
}

RUN_TESTS(NULL, NULL)
