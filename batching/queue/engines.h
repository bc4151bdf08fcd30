/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which engines a queue has, as the configurations of the provider and of the
 * daemon name them.
 */
#ifndef WARPRSA_BATCHING_QUEUE_ENGINES_H
#define WARPRSA_BATCHING_QUEUE_ENGINES_H

#include "batching/base/parameter.h"
#include "batching/queue/queue_types.h"

typedef enum warprsa_engine_choice {
    WARPRSA_ENGINE_AUTO, /* cuda and ifma, those that are there */
    WARPRSA_ENGINE_CUDA,
    WARPRSA_ENGINE_IFMA,
    WARPRSA_ENGINE_HOST,
    WARPRSA_ENGINE_NONE, /* not for the daemon */
} warprsa_engine_choice;

/* What configurations call them, as warprsa_word: all but "none". */
#define WARPRSA_ENGINE_WORDS                                                   \
    {"auto", WARPRSA_ENGINE_AUTO}, {"cuda", WARPRSA_ENGINE_CUDA},              \
        {"ifma", WARPRSA_ENGINE_IFMA},                                         \
    {                                                                          \
        "host", WARPRSA_ENGINE_HOST                                            \
    }

/* As many threads of the CPU engine as the process may use CPUs. */
#define WARPRSA_CPU_THREADS_AUTO WARPRSA_AUTO

/* As many requests in a batch that all streams of a device together have memory
 * for 65536, and 8192 at most. */
#define WARPRSA_BATCH_MAX_AUTO WARPRSA_AUTO

typedef struct warprsa_engines_wanted {
    warprsa_engine_choice engine;
    uint32_t devices;   /* as in warprsa_queue_engine, of cuda and host */
    unsigned streams;   /* as there */
    unsigned batch_max; /* as there, or WARPRSA_BATCH_MAX_AUTO */
    /* Of ifma: 0..WARPRSA_STREAMS_MAX, where 0 leaves ifma out, or
     * WARPRSA_CPU_THREADS_AUTO. */
    unsigned cpu_threads;
} warprsa_engines_wanted;

/*
 * Fills in `engines` and `engine_count` of a queue's configuration, two at
 * most, so that there is room for the engine of other hosts. False: this leaves
 * no engine, and `why` says why in a few words. Touches no device and no
 * driver, and starts no thread. Any thread.
 */
bool warprsa_engines_choose(const warprsa_engines_wanted *wanted,
                            warprsa_queue_config *config, char *why,
                            size_t why_size);

/*
 * To be called as early as possible, while the process has one thread and CUDA
 * has yet to start: lets so many streams work side by side, if the engine may
 * be that of GPUs and its library is there (warprsa_hardware_queues()).
 */
void warprsa_engines_prepare(warprsa_engine_choice engine, unsigned streams);

#endif
