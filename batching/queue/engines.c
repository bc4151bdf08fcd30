/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The engines of a queue by configuration: see engines.h.
 */
#include "batching/queue/engines.h"

#include <stdio.h>

#include "batching/base/usable_cpus.h"

enum {
    BATCH_MAX_AUTO = 8192, /* no batch gains by more */
};

/* How many requests a batch of one of so many streams may have: what was asked
 * for, or as many that more streams take no more memory. Whole groups of the
 * granularity, so that a batch that is as long as it may be leaves no part of
 * one. */
static unsigned batch_max_of(const warprsa_engine *engine,
                             const warprsa_engines_wanted *wanted,
                             unsigned streams)
{
    const unsigned group = engine->granularity > 1 ? engine->granularity : 1;
    /* All streams together have memory for what may be under way. */
    const unsigned most = WARPRSA_UNDER_WAY_MAX / streams;

    if (wanted->batch_max != WARPRSA_BATCH_MAX_AUTO)
        return wanted->batch_max;
    return most < BATCH_MAX_AUTO ? most - most % group : BATCH_MAX_AUTO;
}

static void add(warprsa_queue_config *config, const warprsa_engine *engine,
                const warprsa_engines_wanted *wanted, unsigned streams)
{
    config->engines[config->engine_count++] = (warprsa_queue_engine){
        .engine = engine,
        .devices = wanted->devices,
        .streams = streams,
        .batch_max = batch_max_of(engine, wanted, streams),
    };
}

static void add_ifma(warprsa_queue_config *config, unsigned threads)
{
    if (threads == WARPRSA_CPU_THREADS_AUTO)
        threads = warprsa_usable_cpus();
    config->engines[config->engine_count++] = (warprsa_queue_engine){
        .engine = warprsa_engine_ifma(),
        .devices = UINT32_MAX,
        .streams =
            threads < WARPRSA_STREAMS_MAX ? threads : WARPRSA_STREAMS_MAX,
        /* A longer batch would keep others waiting while a thread is free. */
        .batch_max = WARPRSA_IFMA_LANES,
        .on_cpus = true,
    };
}

/* Whether the engine on the CPUs is there, and wanted. */
static bool may_use_ifma(const warprsa_engines_wanted *wanted, char *why,
                         size_t why_size)
{
    if (wanted->cpu_threads != 0)
        return warprsa_engine_ifma()->count(why, why_size) > 0;
    snprintf(why, why_size, "cpu_threads = 0");
    return false;
}

/* Only if its library is there: without one there is no reason for the threads
 * of a device that nobody can open. */
static bool add_cuda(warprsa_queue_config *config,
                     const warprsa_engines_wanted *wanted, char *why,
                     size_t why_size)
{
    if (!warprsa_engine_cuda_is_installed(why, why_size))
        return false;
    add(config, warprsa_engine_cuda(), wanted,
        warprsa_hardware_queues(wanted->streams));
    return true;
}

bool warprsa_engines_choose(const warprsa_engines_wanted *wanted,
                            warprsa_queue_config *config, char *why,
                            size_t why_size)
{
    char no_ifma[128] = "";
    bool cuda = wanted->engine == WARPRSA_ENGINE_AUTO ||
                wanted->engine == WARPRSA_ENGINE_CUDA;
    bool ifma = wanted->engine == WARPRSA_ENGINE_AUTO ||
                wanted->engine == WARPRSA_ENGINE_IFMA;

    config->engine_count = 0;
    snprintf(why, why_size, "engine = none");
    if (wanted->engine == WARPRSA_ENGINE_HOST)
        add(config, warprsa_engine_host(), wanted, wanted->streams);
    if (cuda)
        cuda = add_cuda(config, wanted, why, why_size);
    if (ifma && may_use_ifma(wanted, no_ifma, sizeof(no_ifma))) {
        add_ifma(config, wanted->cpu_threads);
    } else if (wanted->engine == WARPRSA_ENGINE_IFMA) {
        snprintf(why, why_size, "%s", no_ifma);
    }
    return config->engine_count > 0;
}

void warprsa_engines_prepare(warprsa_engine_choice engine, unsigned streams)
{
    char why[128];

    if ((engine == WARPRSA_ENGINE_AUTO || engine == WARPRSA_ENGINE_CUDA) &&
        warprsa_engine_cuda_is_installed(why, sizeof(why)))
        (void)warprsa_hardware_queues(streams);
}
