/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The known-answer test: one private operation of each size class, with fixed
 * keys, on the device that is to be used.
 */
#ifndef WARPRSA_KNOWN_ANSWER_H
#define WARPRSA_KNOWN_ANSWER_H

#include <stdatomic.h>

#include "gpu/engine.h"

/* The test on one device; zeroed at first. */
typedef struct warprsa_known_answer {
    unsigned loaded; /* the keys of so many classes, the first ones */
    uint32_t key[WARPRSA_CLASSES];           /* their indices */
    _Atomic bool is_proven[WARPRSA_CLASSES]; /* of large classes */
} warprsa_known_answer;

/* The test's key of a size class. It is no secret. Any thread. */
void warprsa_known_answer_key(warprsa_private_key *key,
                              warprsa_size_class size);

/* The right result of the test with this key; returns its length in bytes. Any
 * thread. */
size_t warprsa_known_answer_result(uint8_t *result, warprsa_size_class size);

/* Loads the test's keys of the first `classes` classes onto a device, as far as
 * they are not loaded. Called when the device is opened, and again if keys of
 * large classes follow later. Needs `classes` indices beside keys_max. Returns
 * what load_key() returns. One thread at a time. */
warprsa_status warprsa_known_answer_load(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         warprsa_known_answer *test,
                                         unsigned classes);

/*
 * Runs the operation of one size class `count` times as one batch, on an idle
 * stream. `tasks` are `count` tasks to work with; what they hold does not
 * matter. If there is no error, *ms gets the milliseconds from start() to the
 * end of wait(). WARPRSA_CHECK_FAILED if an answer is wrong; else what the
 * engine returned. One thread at a time for each stream.
 */
warprsa_status
warprsa_known_answer_batch(const warprsa_engine *engine, warprsa_device *device,
                           const warprsa_known_answer *test, unsigned stream,
                           warprsa_size_class size, warprsa_task *tasks,
                           size_t count, double *ms);

/* Runs the test of all classes but the large ones on an idle stream. The large
 * classes are to be proven anew. WARPRSA_CHECK_FAILED for a wrong answer; else
 * what the engine returned. Takes a minute for each class at most. One thread
 * at a time for each stream. */
warprsa_status warprsa_known_answer_run(const warprsa_engine *engine,
                                        warprsa_device *device,
                                        warprsa_known_answer *test,
                                        unsigned stream);

/* Runs the test of a large class on an idle stream, whose key is loaded, if the
 * device has not passed it yet. Such a test takes as long as those of all other
 * classes together, so a device is opened without it, and each batch of a large
 * class calls this first. The start() and wait() of `engine` do not call it.
 * Any class is allowed; one that is not large is WARPRSA_OK. The result is that
 * of warprsa_known_answer_run(). One thread at a time for each stream; two
 * streams may both run it. */
warprsa_status warprsa_known_answer_prove(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size);

/* Runs the test of one class on an idle stream, whose key is loaded. Unlike the
 * functions above it obeys the faults of test builds: it is for a device whose
 * results were wrong. The result is that of warprsa_known_answer_run(). One
 * thread at a time for each stream. */
warprsa_status warprsa_known_answer_class(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          const warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size);

#endif
