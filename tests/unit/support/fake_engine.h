/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * An engine that computes nothing and misbehaves on demand: for tests of the
 * queue. Its "private operation" xors the input with the modulus. It watches
 * that the queue keeps to gpu/engine.h.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_FAKE_ENGINE_H
#define WARPRSA_TESTS_UNIT_SUPPORT_FAKE_ENGINE_H

#include <pthread.h>
#include <stdbool.h>

#include "gpu/engine.h"

enum {
    FAKE_BATCHES_LOGGED = 256,
};

/* Everything under `lock`; `changed` is broadcast at each change. */
typedef struct fake_engine {
    pthread_mutex_t lock;
    pthread_cond_t changed;

    /* How it is to behave. */
    unsigned devices;        /* that count() finds */
    unsigned second_devices; /* the same of fake_engine_second() */
    const char *text;        /* its description; NULL: "Fake (fake 0)" */
    bool hold_count;         /* count() doesn't return */
    bool hold_open;          /* open() doesn't return */
    unsigned open_failures;  /* next opens that fail */
    unsigned open_losses; /* next opens whose device goes before they return */
    bool hold_load;       /* load_key() doesn't return */
    bool hold_unload;     /* unload_key() doesn't return */
    bool hold_start;      /* start() doesn't return */
    bool hold_wait;       /* wait() doesn't return, whatever its limit */
    warprsa_status load_status; /* of every load_key() */
    unsigned large_keys_max; /* keys of large classes loaded; 0: any number */
    bool hold;               /* batches don't end */
    unsigned hold_at;        /* the start of this batch, from 1, sets it */
    unsigned slow_starts;    /* next starts that sleep for 5 ms */
    unsigned overdue;        /* next batches held that miss their deadline */
    unsigned start_failures; /* next starts that fail with start_status */
    warprsa_status start_status;
    unsigned wait_failures; /* next batches that end the device */
    unsigned bad_checks;    /* next tasks whose check fails */
    unsigned unanswered;    /* next tasks that are not done */
    bool unsupported;       /* and whether that is for their keys */
    unsigned load_failures; /* next load_key() that end the device */
    unsigned bad_self_tests;
    unsigned bad_class_tests;
    unsigned bad_wipes; /* next unloads and closes that don't wipe */

    /* What it saw. */
    unsigned opens; /* that succeeded */
    unsigned closes, loads, unloads, self_tests;
    unsigned class_tests[WARPRSA_CLASSES];
    unsigned checked_keys; /* by warprsa_check_key() */
    unsigned keys;         /* loaded now */
    unsigned running;      /* batches started and not ended */
    unsigned waiting;      /* threads in a held call */
    unsigned batches;
    struct {
        warprsa_size_class size;
        size_t count;
        bool second; /* of fake_engine_second() */
        unsigned device;
        unsigned stream;
    } log[FAKE_BATCHES_LOGGED];
    const char *broken; /* the first rule broken, or NULL */
} fake_engine;

extern fake_engine fake;

const warprsa_engine *fake_engine_get(void);

/* Another engine, with devices of its own; all else is that of the first. */
const warprsa_engine *fake_engine_second(void);

/* An engine of other hosts, with the devices of the first. */
const warprsa_engine *fake_engine_hosts(void);

/* An engine of CPUs, likewise. */
const warprsa_engine *fake_engine_cpus(void);

/* The device opened last takes no more batches, and says so. */
void fake_lose_device(void);

/* Back to one good device, nothing seen. No queue may be open. */
void fake_reset(void);

/* Frees the memory of the device opened last, which was left open. */
void fake_free_device(void);

/* Sets a field under the lock and wakes all who wait for a change. */
#define FAKE_SET(field, value)                                                 \
    do {                                                                       \
        pthread_mutex_lock(&fake.lock);                                        \
        fake.field = (value);                                                  \
        pthread_cond_broadcast(&fake.changed);                                 \
        pthread_mutex_unlock(&fake.lock);                                      \
    } while (0)

/* Sleeps until the condition (of fields of `fake`) holds. */
#define FAKE_WAIT(condition)                                                   \
    do {                                                                       \
        pthread_mutex_lock(&fake.lock);                                        \
        while (!(condition))                                                   \
            pthread_cond_wait(&fake.changed, &fake.lock);                      \
        pthread_mutex_unlock(&fake.lock);                                      \
    } while (0)

/* How often a size class was tested alone, so far. */
unsigned fake_class_tests(warprsa_size_class size);

/* A key of a size class; different seeds, different keys. */
warprsa_private_key fake_key(warprsa_size_class size, unsigned seed);

/* Makes the numbers of a key wrong: each of its results fails the check. */
void fake_make_wrong(warprsa_private_key *key);

/* What the engine will answer. */
void fake_result(const warprsa_private_key *key, const uint8_t *input,
                 uint8_t *output);

#endif
