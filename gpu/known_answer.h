/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Known-answer test: one private operation of each size class, with fixed
 * keys, on the device that is to be used.
 */
#ifndef WARPRSA_KNOWN_ANSWER_H
#define WARPRSA_KNOWN_ANSWER_H

#include "gpu/engine.h"

/* The places of the test's keys on a device, by class. */
typedef struct warprsa_known_answer {
    uint32_t key[WARPRSA_CLASSES];
} warprsa_known_answer;

/* Loads the keys; done once, when the device is opened. Takes
 * WARPRSA_CLASSES places of key memory. */
warprsa_status warprsa_known_answer_load(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         warprsa_known_answer *test);

/* The same operation of one class `count` times over, as one batch; `tasks` has
 * room for them. The milliseconds from start() to the end of wait(), if there
 * was no error. WARPRSA_CHECK_FAILED if any answer is wrong. */
warprsa_status
warprsa_known_answer_batch(const warprsa_engine *engine, warprsa_device *device,
                           const warprsa_known_answer *test, unsigned stream,
                           warprsa_size_class size, warprsa_task *tasks,
                           size_t count, double *ms);

/* Runs the test on an idle stream. WARPRSA_CHECK_FAILED for a wrong answer,
 * else what the engine said. A minute for each class at most. */
warprsa_status warprsa_known_answer_run(const warprsa_engine *engine,
                                        warprsa_device *device,
                                        const warprsa_known_answer *test,
                                        unsigned stream);

#endif
