/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The descriptors of a wait ctx for uses, and pausing; see use_wait.h. The one
 * that the program gets is an epoll instance, which has the notifier in it, and
 * what use_watch.c adds when the job's time has come.
 */
#include "provider/use_wait.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <openssl/async.h>
#include <openssl/err.h>

#include "batching/base/cancellation.h"
#include "batching/base/own_fd.h"
#include "provider/async_wait.h"
#include "provider/fork.h"
#include "provider/jobs_left.h"
#include "provider/use_watch.h"

enum {
    /* A byte may come during the next use. One that was not there before that
     * use and not before the one after it never comes, or has a job resumed too
     * early, once. */
    MISSES_MAX = 2,
};

/* One per wait ctx, from its first use to its end. */
struct warprsa_use_wait {
    unsigned generation;     /* warprsa_fork_generation() when it was made */
    warprsa_watched watched; /* with the descriptor */
    bool enlisted;
    bool fresh;          /* the wait ctx got its descriptor for this use */
    bool there;          /* are_there() has found so, a moment ago */
    bool stays_readable; /* the program has closed what made it so */
    bool has_notifier;
    bool is_watched; /* the notifier is in the epoll instance */
    warprsa_notifier notifier;
    /* The daemon writes a byte to the notifier for an answer, or for several of
     * a batch. How many have yet to be read, at most and maybe for earlier
     * uses; and the last use that was counted, by its ticket's generation. */
    unsigned bytes_due;
    unsigned misses; /* uses that have begun without finding such a byte */
    uint32_t counted;
    atomic_bool waiting; /* a job has it */
    unsigned pauses;     /* of that job */
    /* Of the use that the job has submitted and pauses for; the job's own
     * memory is not looked at once the job is left. NULL: of none. */
    struct warprsa_connection *connection;
    warprsa_ticket ticket;
};

/* The address of this is the key under which a wait ctx has our descriptor. */
static const char wait_ctx_key;

static bool is_mine(const warprsa_use_wait *wait)
{
    return wait->generation == warprsa_fork_generation();
}

/* Whether the program has left us our descriptors. Programs that close what
 * they did not open close all numbers from one on, as closefrom() does. So if
 * the higher number is there, the lower one is, too. */
static bool are_there(const warprsa_use_wait *wait)
{
    const int notifier = wait->has_notifier ? wait->notifier.fd.fd : -1;

    return warprsa_marked_fd_is_there(notifier > wait->watched.fd.fd
                                          ? wait->notifier.marked
                                          : wait->watched.fd);
}

static bool watch(const warprsa_use_wait *wait, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(wait->watched.fd.fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void unwatch_notifier(warprsa_use_wait *wait)
{
    if (wait->is_watched && warprsa_marked_fd_is_there(wait->watched.fd) &&
        warprsa_own_fd_is_there(&wait->notifier.fd))
        (void)epoll_ctl(wait->watched.fd.fd, EPOLL_CTL_DEL,
                        wait->notifier.fd.fd, NULL);
    wait->is_watched = false;
}

/* A forked child shares the epoll instance with its parent, and changes nothing
 * in it. */
static void drop_notifier(warprsa_use_wait *wait)
{
    if (!wait->has_notifier)
        return;
    wait->has_notifier = false;
    wait->bytes_due = wait->counted = 0;
    if (!is_mine(wait)) {
        warprsa_own_fd_close(&wait->notifier.fd);
        return;
    }
    unwatch_notifier(wait);
    warprsa_backend_daemon.notifier_close(&wait->notifier);
}

static void wait_free(warprsa_use_wait *wait)
{
    if (wait->enlisted)
        warprsa_use_watch_leave(&wait->watched);
    drop_notifier(wait);
    warprsa_marked_fd_close(&wait->watched.fd);
    free(wait);
}

static void wait_ctx_gone(ASYNC_WAIT_CTX *wait_ctx, const void *key,
                          OSSL_ASYNC_FD fd, void *custom)
{
    const int cancellation = warprsa_cancellation_off();
    warprsa_use_wait *wait = custom;

    (void)wait_ctx, (void)key, (void)fd;
    if (is_mine(wait) && atomic_load(&wait->waiting)) {
        warprsa_jobs_left_note();
        if (wait->connection != NULL)
            warprsa_client_use_leave(wait->connection, wait->ticket);
    }
    wait_free(wait);
    warprsa_cancellation_restore(cancellation);
}

static warprsa_use_wait *wait_new(ASYNC_WAIT_CTX *wait_ctx)
{
    warprsa_use_wait *wait = calloc(1, sizeof(*wait));

    if (wait == NULL)
        return NULL;
    wait->generation = warprsa_fork_generation();
    wait->enlisted = warprsa_marked_fd_take(&wait->watched.fd,
                                            epoll_create1(EPOLL_CLOEXEC)) &&
                     warprsa_use_watch_enlist(&wait->watched);
    if (wait->enlisted &&
        ASYNC_WAIT_CTX_set_wait_fd(wait_ctx, &wait_ctx_key, wait->watched.fd.fd,
                                   wait, wait_ctx_gone))
        return wait;
    wait_free(wait);
    return NULL;
}

/* Removes a descriptor that the program can't have seen, as async_wait.c does
 * and explains. */
static void withdraw_fd(warprsa_use_wait *wait)
{
    ASYNC_JOB *job = ASYNC_get_current_job();

    if (!wait->fresh || job == NULL)
        return;
    ERR_set_mark();
    if (ASYNC_WAIT_CTX_clear_fd(ASYNC_get_wait_ctx(job), &wait_ctx_key))
        wait_free(wait);
    ERR_pop_to_mark();
}

/* Whether `wait` can serve: a callback can be called by nobody, and the program
 * may have closed the descriptors. */
static bool is_usable(const warprsa_use_wait *wait, ASYNC_WAIT_CTX *wait_ctx)
{
    ASYNC_callback_fn callback = NULL;
    void *arg = NULL;

    return is_mine(wait) && !wait->stays_readable && are_there(wait) &&
           (!ASYNC_WAIT_CTX_get_callback(wait_ctx, &callback, &arg) ||
            callback == NULL);
}

static warprsa_use_wait *wait_of(ASYNC_WAIT_CTX *wait_ctx)
{
    OSSL_ASYNC_FD fd = -1;
    void *custom = NULL;
    const bool known =
        ASYNC_WAIT_CTX_get_fd(wait_ctx, &wait_ctx_key, &fd, &custom) == 1;
    warprsa_use_wait *wait = known ? custom : wait_new(wait_ctx);

    if (wait == NULL || atomic_exchange(&wait->waiting, true))
        return NULL;
    wait->fresh = !known;
    wait->pauses = 0;
    wait->there = is_usable(wait, wait_ctx);
    if (wait->there) {
        ASYNC_WAIT_CTX_set_status(wait_ctx, ASYNC_STATUS_OK);
        return wait;
    }
    atomic_store(&wait->waiting, false);
    withdraw_fd(wait);
    return NULL;
}

warprsa_use_wait *warprsa_use_wait_new(void)
{
    ASYNC_JOB *job = ASYNC_get_current_job();
    ASYNC_WAIT_CTX *wait_ctx = job == NULL ? NULL : ASYNC_get_wait_ctx(job);
    warprsa_use_wait *wait = NULL;

    if (wait_ctx == NULL)
        return NULL;
    ERR_set_mark();
    wait = wait_of(wait_ctx);
    ERR_pop_to_mark();
    return wait;
}

/* Empties the notifier. One that has ended stays readable: it leaves. False:
 * there was nothing in it. */
static bool empty(warprsa_use_wait *wait)
{
    char messages[64];
    ssize_t got = 0;
    bool had_some = false;

    if (!wait->has_notifier || !wait->there)
        return true;
    do {
        got = recv(wait->notifier.fd.fd, messages, sizeof(messages),
                   MSG_DONTWAIT);
        had_some |= got >= 0;
        if (got > 0)
            wait->bytes_due -= (unsigned)got < wait->bytes_due
                                   ? (unsigned)got
                                   : wait->bytes_due;
    } while (got == (ssize_t)sizeof(messages));
    if (got == 0)
        drop_notifier(wait);
    return had_some;
}

uint32_t warprsa_use_wait_notifier(warprsa_use_wait *wait,
                                   warprsa_client *client)
{
    if (wait->bytes_due > 0 && !empty(wait) && ++wait->misses == MISSES_MAX)
        wait->bytes_due = 0;
    if (!wait->has_notifier || !wait->there ||
        !warprsa_backend_daemon.notifier_works(client, &wait->notifier)) {
        drop_notifier(wait);
        wait->has_notifier =
            warprsa_backend_daemon.notifier_open(client, &wait->notifier);
    }
    if (wait->has_notifier && !wait->is_watched)
        wait->is_watched = watch(wait, wait->notifier.fd.fd);
    if (!wait->is_watched)
        drop_notifier(wait);
    return wait->has_notifier ? wait->notifier.number : 0;
}

/* Counts the byte that the daemon is to write for a submitted use. */
static void count_byte(warprsa_use_wait *wait, const warprsa_client_use *use)
{
    if (wait->counted == use->ticket.generation)
        return;
    wait->counted = use->ticket.generation;
    if (wait->bytes_due++ == 0)
        wait->misses = 0;
}

void warprsa_use_wait_pause(warprsa_use_wait *wait,
                            const warprsa_client *client,
                            const warprsa_client_use *use)
{
    int cancellation = warprsa_cancellation_off();

    /* A notifier may end a moment before its connection does. */
    if (use->is_submitted && use->by_notifier && wait->has_notifier) {
        count_byte(wait, use);
        warprsa_use_watch_begin(&wait->watched, client, use->wake_ns,
                                use->until_ns);
    } else {
        warprsa_use_watch_begin(&wait->watched, client, UINT64_MAX,
                                use->wake_ns);
    }
    wait->connection = use->is_submitted ? use->connection : NULL;
    wait->ticket = use->ticket;
    warprsa_cancellation_restore(cancellation);
    warprsa_async_pause(&wait->pauses);
    cancellation = warprsa_cancellation_off(); /* maybe another thread */
    wait->connection = NULL;
    if (is_mine(wait)) {
        wait->stays_readable =
            !warprsa_use_watch_end(&wait->watched) || wait->stays_readable;
        wait->there = are_there(wait);
        (void)empty(wait);
    }
    warprsa_cancellation_restore(cancellation);
}

/* The daemon writes to the notifier after the answer, which a job that was
 * resumed for another reason may have taken by then. The program's descriptor
 * does not become readable by this: no job waits, or the next one waits for
 * another answer. */
void warprsa_use_wait_end(warprsa_use_wait *wait)
{
    if (wait == NULL)
        return;
    if (is_mine(wait) && wait->bytes_due > 0)
        unwatch_notifier(wait);
    if (wait->fresh && warprsa_async_has_paused())
        wait->fresh = false;
    atomic_store(&wait->waiting, false);
    withdraw_fd(wait);
}
