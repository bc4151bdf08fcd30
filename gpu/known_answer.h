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

enum {
    /* A test has to end within so long: enough even under compute-sanitizer. */
    WARPRSA_KNOWN_ANSWER_TIMEOUT_MS = 60000,
};

/* The test on one device; zeroed at first. */
typedef struct warprsa_known_answer {
    unsigned loaded; /* the keys of so many classes, the first ones */
    uint32_t key[WARPRSA_CLASSES];           /* their indices */
    _Atomic bool is_proven[WARPRSA_CLASSES]; /* of large classes */
} warprsa_known_answer;

/* A test under way on a stream. Its owner need not set anything. */
typedef struct warprsa_known_answer_trial {
    warprsa_size_class size;
    warprsa_task task;
    uint8_t input[WARPRSA_MODULUS_BYTES_MAX];
    uint8_t output[WARPRSA_MODULUS_BYTES_MAX];
} warprsa_known_answer_trial;

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

/* Starts the operation of one size class on an idle stream, so that others may
 * compute at the same time. If there is no error, warprsa_known_answer_wait()
 * follows, and *trial must live until it has returned. Otherwise the stream
 * stays idle. Returns what start() returns. One thread at a time for each
 * stream. */
warprsa_status warprsa_known_answer_start(const warprsa_engine *engine,
                                          warprsa_device *device,
                                          const warprsa_known_answer *test,
                                          unsigned stream,
                                          warprsa_size_class size,
                                          warprsa_known_answer_trial *trial);

/* Waits up to timeout_ms milliseconds for an operation that was started, and
 * compares its answer. WARPRSA_CHECK_FAILED if that is wrong; else what wait()
 * returned, so the stream may still be busy. The engine has forgotten *trial in
 * any case. One thread at a time for each stream. */
warprsa_status warprsa_known_answer_wait(const warprsa_engine *engine,
                                         warprsa_device *device,
                                         unsigned stream,
                                         warprsa_known_answer_trial *trial,
                                         unsigned timeout_ms);

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
