/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys of the vault by libcrypto; see libcrypto_uses.h.
 */
#include "batching/daemon/server/libcrypto_uses.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"
#include "batching/base/usable_cpus.h"
#include "batching/vault/compute.h"
#include "batching/vault/vault_key.h"

enum {
    /* With one thread a long operation of one user would keep all others
     * waiting. */
    THREADS_MIN = 2,
    /* Of one user. What comes then is asked for again by its client. */
    WAITING_MAX = 4096,
    BUCKETS = 256,
    /* Users whose tasks are all done, and of whom is still known how much CPU
     * time these have cost. */
    IDLE_MAX = 1024,
};

LIST_HEAD(bucket, owner);

typedef struct owner {
    warprsa_compute_owner of_compute;
    uint64_t id;
    unsigned tasks; /* not done */
    LIST_ENTRY(owner) link;
} owner;

struct warprsa_libcrypto_uses {
    warprsa_use_operations operations;
    warprsa_compute *compute;
    const warprsa_network *network; /* NULL: there is none */
    unsigned deadline_ms;
    pthread_mutex_t lock; /* of all below */
    struct bucket owners[BUCKETS];
    unsigned idle;
};

/* A task on its way through the vault's threads. */
typedef struct task_step {
    warprsa_step step;
    warprsa_libcrypto_uses *uses;
    warprsa_use_task *task;
    owner *owner;
} task_step;

/* ---- owners ---- */

/* Finds or makes an owner, for one more task. NULL: no memory. */
static owner *owner_take(warprsa_libcrypto_uses *uses, uint64_t id)
{
    struct bucket *bucket = &uses->owners[id % BUCKETS];
    owner *found = NULL;

    pthread_mutex_lock(&uses->lock);
    LIST_FOREACH (found, bucket, link)
        if (found->id == id)
            break;
    if (found != NULL && found->tasks == 0)
        uses->idle--;
    if (found == NULL && (found = calloc(1, sizeof(*found))) != NULL) {
        warprsa_compute_owner_init(&found->of_compute);
        found->id = id;
        LIST_INSERT_HEAD(bucket, found, link);
    }
    if (found != NULL)
        found->tasks++;
    pthread_mutex_unlock(&uses->lock);
    return found;
}

static void owner_give(warprsa_libcrypto_uses *uses, owner *given)
{
    pthread_mutex_lock(&uses->lock);
    if (--given->tasks == 0 && uses->idle == IDLE_MAX) {
        LIST_REMOVE(given, link);
        free(given);
    } else if (given->tasks == 0) {
        uses->idle++;
    }
    pthread_mutex_unlock(&uses->lock);
}

static void owners_free(warprsa_libcrypto_uses *uses)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        while (!LIST_EMPTY(&uses->owners[i])) {
            owner *first = LIST_FIRST(&uses->owners[i]);

            LIST_REMOVE(first, link);
            free(first);
        }
}

/* ---- operations ---- */

static bool encode(const warprsa_vault_key *key, const warprsa_key_use *use,
                   const uint8_t *input, uint8_t *number,
                   warprsa_use_errors *errors)
{
    return warprsa_padding_encode(key->padding, use, input, number, errors);
}

static bool finish(const warprsa_vault_key *key, const warprsa_key_use *use,
                   const uint8_t *number, const uint8_t *power, uint8_t *answer,
                   unsigned *length, warprsa_use_errors *errors)
{
    return warprsa_padding_finish(key->padding, use, number, power, answer,
                                  length, errors);
}

/* Called by a thread of the vault. */
static void done(warprsa_step *step)
{
    task_step *own = WARPRSA_CONTAINER_OF(step, task_step, step);
    warprsa_use_task *task = own->task;

    task->has_answer = step->outcome == WARPRSA_STEP_DONE;
    task->is_late = step->outcome == WARPRSA_STEP_LATE ||
                    step->outcome == WARPRSA_STEP_STOPPED;
    task->length = step->length;
    task->errors = step->errors;
    owner_give(own->uses, own->owner);
    free(own);
    task->done(task);
}

static bool compute(void *arg, warprsa_use_task *task)
{
    warprsa_libcrypto_uses *uses = arg;
    task_step *own = NULL;

    if (warprsa_vault_key_is_remote(task->key))
        return uses->network != NULL && uses->network->use(task);
    own = malloc(sizeof(*own));
    if (own == NULL)
        return false;
    *own = (task_step){
        .step =
            {
                .kind = task->power == NULL ? WARPRSA_STEP_ALL
                                            : WARPRSA_STEP_FINISH,
                .key = task->key->padding,
                .use = *task->use,
                .input = task->input,
                .power = task->power,
                .output = task->answer,
                .deadline_ns =
                    warprsa_clock_ns() + uses->deadline_ms * WARPRSA_NS_PER_MS,
                .done = done,
            },
        .uses = uses,
        .task = task,
        .owner = owner_take(uses, task->owner),
    };
    if (own->owner != NULL) {
        if (warprsa_compute_submit(uses->compute, &own->owner->of_compute,
                                   &own->step))
            return true;
        owner_give(uses, own->owner);
    }
    free(own);
    return false;
}

static void send_to_hosts(void *arg)
{
    const warprsa_libcrypto_uses *uses = arg;

    if (uses->network != NULL)
        uses->network->send_uses();
}

/* ---- life ---- */

static unsigned thread_count(void)
{
    const unsigned cpus = warprsa_usable_cpus();

    if (cpus < THREADS_MIN)
        return THREADS_MIN;
    return cpus < WARPRSA_COMPUTE_THREADS_MAX ? cpus
                                              : WARPRSA_COMPUTE_THREADS_MAX;
}

warprsa_libcrypto_uses *
warprsa_libcrypto_uses_new(unsigned deadline_ms, const warprsa_network *network)
{
    warprsa_libcrypto_uses *uses = calloc(1, sizeof(*uses));

    if (uses == NULL)
        return NULL;
    uses->operations = (warprsa_use_operations){
        .encode = encode,
        .finish = finish,
        .is_quick = warprsa_padding_is_quick,
        .compute = compute,
        .send = send_to_hosts,
        .arg = uses,
    };
    uses->network = network;
    uses->deadline_ms = deadline_ms;
    pthread_mutex_init(&uses->lock, NULL); /* can't fail on Linux */
    uses->compute = warprsa_compute_new(thread_count(), WAITING_MAX);
    if (uses->compute != NULL)
        return uses;
    warprsa_libcrypto_uses_free(uses);
    return NULL;
}

void warprsa_libcrypto_uses_free(warprsa_libcrypto_uses *uses)
{
    if (uses == NULL)
        return;
    warprsa_compute_free(uses->compute);
    owners_free(uses);
    pthread_mutex_destroy(&uses->lock);
    free(uses);
}

const warprsa_use_operations *
warprsa_libcrypto_uses_operations(const warprsa_libcrypto_uses *uses)
{
    return &uses->operations;
}
