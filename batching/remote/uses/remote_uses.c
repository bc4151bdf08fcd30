/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Uses of keys that GPU hosts have; see remote_uses.h. This file takes them in
 * and has a thread, the keeper, that ends what is late, takes uses from hosts
 * that do not answer, and lets go of keys.
 */
#include "batching/remote/uses/remote_uses.h"

#include "batching/base/clock.h"
#include "batching/base/create_thread.h"
#include "batching/remote/uses/use_connection.h"
#include "batching/remote/uses/use_host.h"

enum {
    TICK_MS = 50, /* while there are uses; so late may they be late */
    IDLE_MS = 500,
    LATE_AT_ONCE = 256,
};

static struct {
    warprsa_uses_core core;
    pthread_t keeper;
    pthread_cond_t changed; /* under the core's lock: there are uses */
    bool has_hosts;         /* their threads */
    bool is_started;
} uses;

/* ---- The keeper; with the lock held ---- */

/* Takes out the uses that are late. */
static size_t take_ended(warprsa_use_task *tasks[LATE_AT_ONCE], uint64_t now_ns)
{
    warprsa_uses_core *core = &uses.core;
    warprsa_remote_use *use = TAILQ_FIRST(&core->all), *next = NULL;
    size_t count = 0;

    for (; use != NULL && use->deadline_ns <= now_ns && count < LATE_AT_ONCE;
         use = next) {
        next = TAILQ_NEXT(use, all);
        if (use->is_held)
            continue;
        TAILQ_REMOVE(&core->all, use, all);
        tasks[count] = use->task;
        tasks[count++]->is_late = true;
        use->task = NULL;
        if (use->is_sent) /* until the host answers */
            continue;
        warprsa_waiting_uses_remove(&core->waiting, use);
        warprsa_uses_forget(use);
    }
    return count;
}

/* The same of those of one owner whose key no host has, once the last one that
 * might is gone; behind `count` others. The owner may be gone then. */
static size_t take_refused_of(const warprsa_use_owner *owner, uint32_t hosts,
                              warprsa_use_task *tasks[LATE_AT_ONCE],
                              size_t count)
{
    warprsa_uses_core *core = &uses.core;
    warprsa_remote_use *use = TAILQ_FIRST(&owner->again), *next = NULL;

    for (; use != NULL && count < LATE_AT_ONCE; use = next) {
        next = TAILQ_NEXT(use, link);
        if (!warprsa_use_lacks_key(use, hosts))
            continue;
        TAILQ_REMOVE(&core->all, use, all);
        tasks[count] = use->task;
        tasks[count++]->denial = WARPRSA_DENIED_NO_KEY;
        warprsa_waiting_uses_remove(&core->waiting, use);
        warprsa_uses_forget(use);
    }
    return count;
}

static size_t take_refused(warprsa_use_task *tasks[LATE_AT_ONCE])
{
    warprsa_use_owner *owner = TAILQ_FIRST(&uses.core.waiting.turns);
    warprsa_use_owner *next = NULL;
    const uint32_t hosts = warprsa_use_hosts_listed();
    size_t count = 0;

    for (; owner != NULL && count < LATE_AT_ONCE; owner = next) {
        next = TAILQ_NEXT(owner, turn);
        count = take_refused_of(owner, hosts, tasks, count);
    }
    return count;
}

static void take_back(uint64_t now_ns)
{
    const uint64_t patience_ns = warprsa_uses_patience_ns(&uses.core);

    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        if (uses.core.hosts[i] != NULL)
            warprsa_use_host_take_back(uses.core.hosts[i], now_ns, patience_ns);
}

/* Lets go of keys that the vault has removed. */
static void release_keys(void)
{
    warprsa_use_key *key = NULL;

    while ((key = warprsa_use_keys_next_removed(&uses.core.keys)) != NULL) {
        for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
            if (uses.core.hosts[i] != NULL)
                warprsa_use_host_unload(uses.core.hosts[i], key);
        warprsa_use_keys_release(&uses.core.keys, key);
    }
}

/* Calls done() without the lock, which is held before and afterwards. */
static void end_tasks(warprsa_use_task *const *tasks, size_t count)
{
    if (count == 0)
        return;
    pthread_mutex_unlock(&uses.core.lock);
    for (size_t i = 0; i < count; i++)
        tasks[i]->done(tasks[i]);
    pthread_mutex_lock(&uses.core.lock);
}

static void sleep_for(uint64_t ms)
{
    const struct timespec until =
        warprsa_timespec(warprsa_clock_ns() + ms * WARPRSA_NS_PER_MS);

    (void)pthread_cond_timedwait(&uses.changed, &uses.core.lock, &until);
}

static void *keep(void *arg)
{
    warprsa_use_task *tasks[LATE_AT_ONCE];

    (void)arg;
    pthread_mutex_lock(&uses.core.lock);
    while (!uses.core.stopping) {
        size_t count = take_ended(tasks, warprsa_clock_ns());

        end_tasks(tasks, count);
        if (count == LATE_AT_ONCE)
            continue;
        end_tasks(tasks, take_refused(tasks));
        take_back(warprsa_clock_ns());
        release_keys();
        pthread_mutex_unlock(&uses.core.lock);
        warprsa_uses_say_left_out(&uses.core);
        pthread_mutex_lock(&uses.core.lock);
        if (uses.core.stopping)
            break;
        sleep_for(TAILQ_EMPTY(&uses.core.all) ? IDLE_MS : TICK_MS);
    }
    pthread_mutex_unlock(&uses.core.lock);
    return NULL;
}

/* ---- Life ---- */

/* Threads hold the lock for less time than it takes to sleep and to wake, so
 * those that want it look again before they sleep. */
static bool init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    bool done = false;

    if (pthread_mutexattr_init(&attributes) != 0)
        return false;
    done = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP) ==
               0 &&
           pthread_mutex_init(lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return done;
}

static bool init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    bool done = false;

    if (pthread_condattr_init(&attributes) != 0)
        return false;
    done = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
           pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return done;
}

static void free_core(void)
{
    warprsa_use_keys_free(&uses.core.keys);
    warprsa_log_budgets_free(&uses.core.budgets);
    pthread_cond_destroy(&uses.changed);
    pthread_mutex_destroy(&uses.core.lock);
}

bool warprsa_remote_uses_start(const warprsa_uses_config *config)
{
    warprsa_uses_core *core = &uses.core;

    *core = (warprsa_uses_core){.config = *config};
    TAILQ_INIT(&core->all);
    warprsa_waiting_uses_init(&core->waiting);
    if (!init_lock(&core->lock))
        return false;
    if (!init_condition(&uses.changed)) {
        pthread_mutex_destroy(&core->lock);
        return false;
    }
    if (!warprsa_log_budgets_init(&core->budgets, WARPRSA_LOG_LINES_A_SECOND)) {
        pthread_cond_destroy(&uses.changed);
        pthread_mutex_destroy(&core->lock);
        return false;
    }
    uses.has_hosts = false;
    uses.is_started = warprsa_use_keys_init(&core->keys) &&
                      warprsa_create_thread(&uses.keeper, keep, NULL) == 0;
    if (!uses.is_started)
        free_core();
    return uses.is_started;
}

/* With the lock held: starts the hosts' threads, with the first use. A place
 * without one is as a host that is away. */
static void start_hosts(void)
{
    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX && !uses.has_hosts; i++)
        uses.core.hosts[i] = warprsa_use_host_start(&uses.core, i);
    uses.has_hosts = true;
}

void warprsa_remote_uses_look(void)
{
    if (!uses.is_started)
        return;
    pthread_mutex_lock(&uses.core.lock);
    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        if (uses.core.hosts[i] != NULL)
            warprsa_use_host_look(uses.core.hosts[i]);
    pthread_mutex_unlock(&uses.core.lock);
}

void warprsa_remote_uses_stop(void)
{
    warprsa_uses_core *core = &uses.core;

    if (!uses.is_started)
        return;
    pthread_mutex_lock(&core->lock);
    core->stopping = true;
    pthread_cond_signal(&uses.changed);
    pthread_mutex_unlock(&core->lock);
    pthread_join(uses.keeper, NULL);
    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++)
        warprsa_use_host_stop(core->hosts[i]);
    free_core();
    uses.is_started = false;
}

/* ---- Uses ---- */

/* What this thread has added and not sent yet: the lock is taken once for all
 * of it. */
static _Thread_local struct {
    warprsa_use_task *first, *last;
} begun;

/* With the lock held. */
static bool add(warprsa_use_task *task)
{
    warprsa_uses_core *core = &uses.core;
    const bool was_empty = TAILQ_EMPTY(&core->all);
    warprsa_remote_use *use =
        warprsa_remote_use_new(&core->waiting, task->owner);

    if (use == NULL)
        return false;
    use->key = warprsa_use_keys_take(&core->keys, task->key);
    if (use->key == NULL) {
        warprsa_remote_use_free(use);
        return false;
    }
    use->task = task;
    /* By a clock that does not go back, read with the lock held: no other use
     * has a later deadline. */
    use->deadline_ns = warprsa_clock_ns() +
                       core->config.daemon.deadline_ms * WARPRSA_NS_PER_MS;
    TAILQ_INSERT_TAIL(&core->all, use, all);
    warprsa_waiting_uses_add(&core->waiting, use);
    start_hosts();
    if (was_empty)
        pthread_cond_signal(&uses.changed);
    return true;
}

/* With the lock held: lets the uses of a list wait for hosts. Returns those for
 * which there is no room, or no memory. */
static warprsa_use_task *add_all(warprsa_use_task *first)
{
    warprsa_use_task *task = NULL, *refused = NULL;

    while ((task = first) != NULL) {
        first = task->next;
        if (add(task))
            continue;
        task->next = refused;
        refused = task;
    }
    return refused;
}

bool warprsa_remote_uses_add(warprsa_use_task *task)
{
    if (!uses.is_started)
        return false;
    task->next = NULL;
    if (begun.first == NULL)
        begun.first = task;
    else
        begun.last->next = task;
    begun.last = task;
    return true;
}

void warprsa_remote_uses_send(void)
{
    warprsa_use_task *task = begun.first, *refused = NULL;

    if (task == NULL)
        return;
    begun.first = NULL;
    pthread_mutex_lock(&uses.core.lock);
    refused = add_all(task);
    if (uses.core.waiting.count > 0)
        warprsa_use_hosts_wake(&uses.core);
    pthread_mutex_unlock(&uses.core.lock);
    while ((task = refused) != NULL) {
        refused = task->next;
        task->is_late = true;
        task->done(task);
    }
}
