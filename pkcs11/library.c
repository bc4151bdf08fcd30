/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of the library, and who is in it.
 */
#include "pkcs11/library.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batching/base/clock.h"
#include "batching/base/fork_generation.h"
#include "batching/base/thread_shard.h"

enum {
    SLOTS = 16384, /* operations under way that the daemon is asked for */
    WHY_SIZE = 400,
};

/* The number of a shard's threads between enter and leave. Each shard has a
 * cache line, so that callers don't take it from each other. */
typedef struct shard {
    _Alignas(64) atomic_uint callers;
} shard;

static shard shards[WARPRSA_THREAD_SHARDS];
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool prepared;
static _Atomic(warprsa_library *) current;
/* What a child has of its parent is not freed: see abandon(). */
static warprsa_library *left_behind;

/* In a new process: other threads of the parent may have been anywhere. */
static void begin_process(void)
{
    pthread_mutex_init(&open_lock, NULL);
    for (unsigned i = 0; i < WARPRSA_THREAD_SHARDS; i++)
        atomic_store(&shards[i].callers, 0);
}

static void prepare(void)
{
    prepared = warprsa_fork_generation_init(begin_process);
}

static bool is_mine(const warprsa_library *library)
{
    return library != NULL && library->generation == warprsa_fork_generation();
}

/* ---- callers ---- */

warprsa_library *warprsa_library_enter(void)
{
    atomic_uint *callers = &shards[warprsa_thread_shard()].callers;
    warprsa_library *library = NULL;

    if (atomic_load(&current) == NULL)
        return NULL;
    (void)warprsa_fork_generation(); /* may set the counts to 0 */
    /* Either close() sees this caller, or this caller sees that it closes. */
    atomic_fetch_add(callers, 1);
    library = atomic_load(&current);
    if (is_mine(library))
        return library;
    atomic_fetch_sub(callers, 1);
    return NULL;
}

void warprsa_library_leave(void)
{
    atomic_fetch_sub(&shards[warprsa_thread_shard()].callers, 1);
}

/* Each caller's wait for the daemon has an end. */
static void wait_for_callers(void)
{
    static const struct timespec nap = {0, WARPRSA_NS_PER_MS};

    for (unsigned i = 0; i < WARPRSA_THREAD_SHARDS; i++)
        while (atomic_load(&shards[i].callers) > 0)
            nanosleep(&nap, NULL);
}

/* ---- opening and closing ---- */

/* Connects to the daemon early, as the program may lose its rights later. A
 * child has its parent's connection, for the same reason. */
static void connect_early(warprsa_library *library)
{
    const warprsa_library *parent = library->parent;
    const char *path = library->settings.socket;
    char why[WHY_SIZE];

    if (parent != NULL && strcmp(parent->control.path, path) == 0)
        library->control = parent->control;
    else
        (void)warprsa_control_connection_open(&library->control, path, why,
                                              sizeof(why));
}

static bool open_client(warprsa_library *library)
{
    const warprsa_client_config config = {
        .control_connection = &library->control,
        .slots = SLOTS,
        .deadline_ms = library->settings.deadline_ms,
        .uses = true,
        .counters = library->counters,
    };

    connect_early(library);
    library->client = warprsa_client_open(&config);
    return library->client != NULL;
}

/* Ends what there is of a library of this process. */
static void library_free(warprsa_library *library)
{
    warprsa_sessions_free(&library->sessions);
    warprsa_objects_free(&library->objects);
    warprsa_crypto_free(&library->crypto);
    if (library->client != NULL)
        (void)warprsa_backend_daemon.close(library->client);
    warprsa_control_connection_close(&library->control);
    warprsa_counters_free(library->counters);
    pthread_mutex_destroy(&library->reading_lock);
    free(library);
}

static warprsa_library *library_new(const warprsa_token_settings *settings,
                                    warprsa_library *parent)
{
    warprsa_library *library = calloc(1, sizeof(*library));
    bool ok = false;

    if (library == NULL)
        return NULL;
    library->generation = warprsa_fork_generation();
    library->settings = *settings;
    library->parent = parent;
    library->control.socket = WARPRSA_NO_FD;
    ok = pthread_mutex_init(&library->reading_lock, NULL) == 0;
    ok = warprsa_sessions_init(&library->sessions) && ok;
    ok = warprsa_objects_init(&library->objects) && ok;
    if (ok)
        library->counters = warprsa_counters_new();
    if (library->counters != NULL)
        warprsa_counters_set_device(library->counters,
                                    "none yet: no key has been used so far");
    if (library->counters != NULL && warprsa_crypto_init(&library->crypto) &&
        open_client(library))
        return library;
    library_free(library);
    return NULL;
}

/* In a forked child: gives up its copy of the parent's connection. All else
 * stays as it is, since the parent's other threads may have held its locks. */
static void abandon(warprsa_library *parent)
{
    warprsa_backend_daemon.abandon(parent->client);
    warprsa_counters_free(parent->counters);
    parent->counters = NULL;
}

CK_RV warprsa_library_open(const warprsa_token_settings *settings)
{
    warprsa_library *old = NULL, *made = NULL;
    CK_RV rv = CKR_OK;

    if (pthread_once(&once, prepare) != 0 || !prepared)
        return CKR_HOST_MEMORY;
    (void)warprsa_fork_generation();
    pthread_mutex_lock(&open_lock);
    old = atomic_load(&current);
    if (is_mine(old))
        rv = CKR_CRYPTOKI_ALREADY_INITIALIZED;
    else
        made = library_new(settings, old);
    if (made != NULL) {
        if (old != NULL)
            abandon(old);
        atomic_store(&current, made);
    } else if (rv == CKR_OK) {
        rv = CKR_HOST_MEMORY;
    }
    pthread_mutex_unlock(&open_lock);
    return rv;
}

CK_RV warprsa_library_close(void)
{
    warprsa_library *library = NULL;

    if (atomic_load(&current) == NULL)
        return CKR_CRYPTOKI_NOT_INITIALIZED;
    (void)warprsa_fork_generation(); /* may make the lock a free one */
    pthread_mutex_lock(&open_lock);
    if (is_mine(atomic_load(&current)))
        library = atomic_exchange(&current, NULL);
    if (library != NULL) {
        wait_for_callers();
        if (library->parent != NULL)
            left_behind = library->parent;
        library_free(library);
    }
    pthread_mutex_unlock(&open_lock);
    return library == NULL ? CKR_CRYPTOKI_NOT_INITIALIZED : CKR_OK;
}
