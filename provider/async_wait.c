/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The wakers of wait ctxs: their references, their descriptors and callbacks,
 * and pausing until the answer is there. See async_wait.h.
 */
#include "provider/async_wait.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/async.h>
#include <openssl/err.h>

#include "batching/base/cancellation.h"
#include "batching/base/clock.h"
#include "batching/base/futex.h"
#include "batching/base/own_fd.h"
#include "provider/backend_local.h"
#include "provider/fork.h"
#include "provider/jobs_left.h"

enum {
    /* A job that was resumed so often without an answer begins to measure its
     * pauses. */
    UNTIMED_PAUSES = 1000,
    /* If a pause ends sooner, the job did not pause or its thread has nothing
     * else to do: the thread then sleeps for NAP_NS. */
    SHORT_PAUSE_NS = 2000,
    NAP_NS = 50000,
    /* The end of a wait ctx waits for its callback in this many attempts, of
     * this long each. */
    CALLBACK_ATTEMPTS = 100,
    CALLBACK_ATTEMPT_MS = 10,
};

/*
 * One per wait ctx, from its first request to its end. The wait ctx holds a
 * reference, and so does the queue for each request until it has called wake()
 * or drop(). An answer can be taken before wake() is called. So wake() may come
 * when its request has ended, when the next one is under way, or when the wait
 * ctx is gone. It then meets neither freed memory nor a descriptor that was
 * closed and reused.
 */
struct warprsa_async_wait {
    atomic_int references;
    atomic_uint queued;  /* references that the queue holds */
    unsigned generation; /* warprsa_fork_generation() when it was made */
    warprsa_marked_fd fd;
    bool uses_notifier; /* fd is a backend's notifier; wake() isn't called */
    const warprsa_backend_ops *ops;
    warprsa_notifier notifier;
    bool fresh; /* the wait ctx got its descriptor for the last request */
    /* What the wait ctx had for a daemon that is gone. Its descriptor stays
     * open until the program has paused, and so knows that it is removed: the
     * number must not be that of another descriptor before. */
    struct warprsa_async_wait *replaced;
    /* A request is under way: from warprsa_async_wait_new() until its job has
     * the answer. There is one at a time. */
    atomic_bool waiting;
    /* If uses_notifier: the request is submitted, and its ticket. */
    bool submitted;
    warprsa_ticket ticket;
    atomic_bool alive;        /* the wait ctx exists */
    atomic_bool fd_written;   /* fd, an eventfd, may be readable */
    _Atomic uint32_t telling; /* threads that may be in the callback */
    pthread_mutex_t lock;     /* of the two below; not held in the callback */
    ASYNC_callback_fn callback;
    void *callback_arg;
};

/* The address of this is the key under which a wait ctx has our descriptor. */
static const char wait_ctx_key;

/* This thread, which is the program's own, is inside a function of the backend
 * that may call wake(). It may hold locks that a callback takes. */
static _Thread_local bool in_backend;

/* Gives up a reference; the last one frees `wait`. */
static void release(warprsa_async_wait *wait)
{
    if (atomic_fetch_sub(&wait->references, 1) != 1)
        return;
    if (wait->replaced != NULL)
        release(wait->replaced);
    if (wait->uses_notifier && wait->generation == warprsa_fork_generation())
        wait->ops->notifier_close(&wait->notifier);
    else if (wait->uses_notifier)
        warprsa_own_fd_close(&wait->notifier.fd);
    else
        warprsa_marked_fd_close(&wait->fd);
    pthread_mutex_destroy(&wait->lock);
    free(wait);
}

/* Gives up the queue's reference for one request. */
static void release_queued(warprsa_async_wait *wait)
{
    atomic_fetch_sub(&wait->queued, 1);
    release(wait);
}

/* In a forked child: gives up the references of the parent's queue, since
 * nobody else will. */
static void release_parents(warprsa_async_wait *wait)
{
    while (atomic_load(&wait->queued) > 0)
        release_queued(wait);
}

/* Waits for running callbacks, in many short attempts. While the machine is
 * stopped, time goes on but a callback does not, so a single attempt, however
 * long, might end before the callback has run at all. */
static void wait_for_callbacks(warprsa_async_wait *wait)
{
    for (unsigned i = 0; i < CALLBACK_ATTEMPTS; i++) {
        uint32_t telling = atomic_load(&wait->telling);

        if (telling == 0)
            return;
        warprsa_futex_wait(&wait->telling, telling,
                           warprsa_clock_ns() +
                               CALLBACK_ATTEMPT_MS * WARPRSA_NS_PER_MS);
    }
}

/*
 * libcrypto calls this when the wait ctx is about to be freed, and with it what
 * the callback's argument points to. So this waits for a running callback, but
 * not for ever: the callback may itself wait for a lock that the program holds
 * right now. In a forked child no worker could run a callback.
 */
static void end_wait(warprsa_async_wait *wait)
{
    /* Either tell() reads this or we read its count: each writes before it
     * reads, and all four accesses are in one total order. */
    atomic_store(&wait->alive, false);
    if (wait->generation == warprsa_fork_generation()) {
        wait_for_callbacks(wait);
        if (atomic_load(&wait->waiting)) {
            warprsa_jobs_left_note();
            if (wait->submitted)
                wait->ops->leave(&wait->notifier, wait->ticket);
        }
    } else {
        release_parents(wait);
    }
    release(wait);
}

static void wait_ctx_gone(ASYNC_WAIT_CTX *wait_ctx, const void *key,
                          OSSL_ASYNC_FD fd, void *custom)
{
    int cancellation = warprsa_cancellation_off();

    (void)wait_ctx, (void)key, (void)fd;
    end_wait(custom);
    warprsa_cancellation_restore(cancellation);
}

static bool open_fd(warprsa_async_wait *wait, const warprsa_backend *backend)
{
    wait->ops = backend->ops;
    wait->uses_notifier = backend->ops->notifier_open != NULL;
    if (wait->uses_notifier) {
        if (!backend->ops->notifier_open(backend->impl, &wait->notifier))
            return false;
        wait->fd = wait->notifier.marked;
        return true;
    }
    return warprsa_marked_fd_take(&wait->fd,
                                  eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

/* One that no wait ctx has yet. */
static warprsa_async_wait *wait_open(const warprsa_backend *backend)
{
    warprsa_async_wait *wait = calloc(1, sizeof(*wait));

    if (wait == NULL)
        return NULL;
    atomic_init(&wait->references, 1);
    atomic_init(&wait->alive, true);
    wait->generation = warprsa_fork_generation();
    if (pthread_mutex_init(&wait->lock, NULL) != 0) {
        free(wait);
        return NULL;
    }
    if (open_fd(wait, backend))
        return wait;
    pthread_mutex_destroy(&wait->lock);
    free(wait);
    return NULL;
}

/* The wait ctx takes over the reference. */
static bool give_to(ASYNC_WAIT_CTX *wait_ctx, warprsa_async_wait *wait)
{
    return ASYNC_WAIT_CTX_set_wait_fd(wait_ctx, &wait_ctx_key, wait->fd.fd,
                                      wait, wait_ctx_gone) == 1;
}

static warprsa_async_wait *wait_new(ASYNC_WAIT_CTX *wait_ctx,
                                    const warprsa_backend *backend)
{
    warprsa_async_wait *wait = wait_open(backend);

    if (wait == NULL || give_to(wait_ctx, wait))
        return wait;
    release(wait);
    return NULL;
}

/* Whether `wait`, which has no request under way, is for a daemon that is gone,
 * and nothing else keeps its job from pausing. A number that the program has
 * for another file by now is never removed from the wait ctx: the program would
 * take it for the file's. */
static bool has_outlived_daemon(const warprsa_async_wait *wait,
                                const warprsa_backend *backend)
{
    return wait->uses_notifier && wait->ops == backend->ops &&
           wait->generation == warprsa_fork_generation() &&
           warprsa_marked_fd_is_there(wait->fd) &&
           !backend->ops->notifier_works(backend->impl, &wait->notifier);
}

/* Gives the wait ctx a notifier of the daemon that there is now. Returns what
 * the wait ctx has then: `old` if there is no memory or no notifier. */
static warprsa_async_wait *replace(warprsa_async_wait *old,
                                   ASYNC_WAIT_CTX *wait_ctx,
                                   const warprsa_backend *backend)
{
    warprsa_async_wait *wait = wait_open(backend);

    if (wait == NULL)
        return old;
    if (ASYNC_WAIT_CTX_clear_fd(wait_ctx, &wait_ctx_key) != 1) {
        release(wait);
        return old;
    }
    if (!give_to(wait_ctx, wait)) {
        release(wait);
        return give_to(wait_ctx, old) ? old : NULL; /* else `old` is left */
    }
    wait->fresh = true;
    wait->replaced = old;
    atomic_store(&wait->waiting, true);
    atomic_store(&old->waiting, false);
    return wait;
}

/*
 * Removes a descriptor that the program can't have seen, since the job has not
 * paused since the descriptor was set. A program that looks for descriptors
 * only at pauses would meet an unknown one at the end of the connection, which
 * makes haproxy crash. The one that was replaced, which the program knows, is
 * the wait ctx's again.
 */
static void withdraw_fd(warprsa_async_wait *wait)
{
    ASYNC_JOB *job = ASYNC_get_current_job();
    warprsa_async_wait *old = wait->replaced;

    if (!wait->fresh || job == NULL)
        return;
    ERR_set_mark();
    if (ASYNC_WAIT_CTX_clear_fd(ASYNC_get_wait_ctx(job), &wait_ctx_key)) {
        wait->replaced = NULL;
        if (old != NULL)
            (void)give_to(ASYNC_get_wait_ctx(job), old); /* else it is left */
        release(wait);
    }
    ERR_pop_to_mark();
}

/* Whether `wait`, which has no request under way, can serve one to this
 * backend. Also reads the wait ctx's callback into `wait`. */
static bool is_usable(warprsa_async_wait *wait, ASYNC_WAIT_CTX *wait_ctx,
                      const warprsa_backend *backend)
{
    if (wait->generation != warprsa_fork_generation())
        return false; /* the parent process uses this descriptor as well */
    if (wait->ops != backend->ops)
        return false; /* another library context has made it */
    pthread_mutex_lock(&wait->lock);
    if (!ASYNC_WAIT_CTX_get_callback(wait_ctx, &wait->callback,
                                     &wait->callback_arg))
        wait->callback = NULL;
    pthread_mutex_unlock(&wait->lock);
    if (wait->callback != NULL)
        return !wait->uses_notifier;
    if (!warprsa_marked_fd_is_there(wait->fd))
        return false; /* the program has closed it */
    return !wait->uses_notifier ||
           backend->ops->notifier_works(backend->impl, &wait->notifier);
}

/*
 * The warprsa_async_wait of a wait ctx, made if there is none yet. There is an
 * eventfd even with a callback: only the cleanup function of a descriptor is
 * called at the end of the wait ctx, after which the callback's argument must
 * not be used.
 */
static warprsa_async_wait *wait_of(ASYNC_WAIT_CTX *wait_ctx,
                                   const warprsa_backend *backend)
{
    OSSL_ASYNC_FD fd = -1;
    void *custom = NULL;
    warprsa_async_wait *wait = NULL;
    bool known =
        ASYNC_WAIT_CTX_get_fd(wait_ctx, &wait_ctx_key, &fd, &custom) == 1;
    bool usable = false;

    wait = known ? custom : wait_new(wait_ctx, backend);
    /* Another job of the same wait ctx may have paused, which OpenSSL forbids.
     * That job's request stays as it is. */
    if (wait == NULL || atomic_exchange(&wait->waiting, true))
        return NULL;
    wait->fresh = !known;
    wait->submitted = false;
    if (wait->replaced != NULL && warprsa_async_has_paused()) {
        release(wait->replaced);
        wait->replaced = NULL;
    }
    usable = is_usable(wait, wait_ctx, backend);
    if (!usable && known && has_outlived_daemon(wait, backend)) {
        wait = replace(wait, wait_ctx, backend);
        usable = wait != NULL && is_usable(wait, wait_ctx, backend);
    }
    if (usable || wait == NULL)
        return wait;
    atomic_store(&wait->waiting, false);
    withdraw_fd(wait);
    return NULL;
}

/* The warprsa_async_wait of the current job's wait ctx, marked as waiting.
 * NULL: as with warprsa_async_wait_new(). */
static warprsa_async_wait *wait_of_job(const warprsa_backend *backend)
{
    ASYNC_JOB *job = ASYNC_get_current_job();
    ASYNC_WAIT_CTX *wait_ctx = NULL;
    warprsa_async_wait *wait = NULL;

    if (job == NULL)
        return NULL;
    wait_ctx = ASYNC_get_wait_ctx(job);
    if (wait_ctx == NULL)
        return NULL;
    ERR_set_mark();
    wait = wait_of(wait_ctx, backend);
    if (wait != NULL)
        ASYNC_WAIT_CTX_set_status(wait_ctx, ASYNC_STATUS_OK);
    ERR_pop_to_mark();
    return wait;
}

warprsa_async_wait *warprsa_async_wait_new(const warprsa_backend *backend)
{
    warprsa_async_wait *wait = wait_of_job(backend);

    if (wait != NULL && !wait->uses_notifier) {
        atomic_fetch_add(&wait->queued, 1);
        atomic_fetch_add(&wait->references, 1);
    }
    return wait;
}

static ASYNC_callback_fn callback_of(warprsa_async_wait *wait, void **arg)
{
    ASYNC_callback_fn callback = NULL;

    pthread_mutex_lock(&wait->lock);
    callback = wait->callback;
    *arg = wait->callback_arg;
    pthread_mutex_unlock(&wait->lock);
    return callback;
}

/* Tells the program to resume the job, if it still waits. If a later request of
 * the wait ctx waits instead, its job is resumed too early, which does no
 * harm. */
static void tell(warprsa_async_wait *wait)
{
    void *arg = NULL;

    atomic_fetch_add(&wait->telling, 1);
    if (atomic_load(&wait->alive) && atomic_load(&wait->waiting)) {
        ASYNC_callback_fn callback = callback_of(wait, &arg);

        /* Set before the write, for the job that the write resumes; and after
         * it, since the job may have taken another answer's mark for this
         * one's. */
        if (callback == NULL || !callback(arg)) {
            atomic_store(&wait->fd_written, true);
            (void)warprsa_marked_eventfd_notify(wait->fd);
            atomic_store(&wait->fd_written, true);
        }
    }
    /* Nobody waits for this number while the wait ctx exists: the end of the
     * wait ctx clears `alive` before it reads the number. */
    if (atomic_fetch_sub(&wait->telling, 1) == 1 && !atomic_load(&wait->alive))
        warprsa_futex_wake(&wait->telling, INT_MAX);
    release_queued(wait);
}

static void *tell_thread(void *arg)
{
    tell(arg);
    return NULL;
}

/* Calls tell() from a thread that holds none of the program's locks. */
static bool tell_elsewhere(warprsa_async_wait *wait)
{
    pthread_t thread;
    sigset_t all, old;
    bool started = false;

    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
        return false;
    started = pthread_create(&thread, NULL, tell_thread, wait) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (started)
        (void)pthread_detach(thread);
    return started;
}

/*
 * The queue calls this once the answer can be collected, or the deadline has
 * passed: from a worker, from a thread that submits while the last device goes
 * down and helps to refuse queued requests, or by warprsa_async_wait_tick().
 */
static void wake(void *arg)
{
    warprsa_async_wait *wait = arg;

    if (!in_backend || callback_of(wait, &arg) == NULL || !tell_elsewhere(wait))
        tell(wait);
}

/* The queue calls this if the job gives up before the answer. */
static void drop(void *arg)
{
    release_queued(arg);
}

void warprsa_async_wait_tick(const warprsa_backend *backend)
{
    if (backend->ops->tick == NULL)
        return;
    in_backend = true;
    backend->ops->tick(backend->impl);
    in_backend = false;
}

warprsa_answer warprsa_async_wait_submit(warprsa_async_wait *wait,
                                         const warprsa_backend *backend,
                                         warprsa_backend_key *key,
                                         const uint8_t *input,
                                         warprsa_ticket *ticket)
{
    warprsa_notify notify = {wake, drop, wait};
    warprsa_answer answer = WARPRSA_REFUSED;

    if (wait == NULL)
        notify = (warprsa_notify){0};
    in_backend = true;
    answer = backend->ops->submit(
        backend->impl, key, input, notify,
        wait != NULL && wait->uses_notifier ? wait->notifier.number : 0,
        ticket);
    in_backend = false;
    if (answer == WARPRSA_DONE && wait != NULL && wait->uses_notifier) {
        wait->submitted = true;
        wait->ticket = *ticket;
    }
    return answer;
}

/*
 * A pause may end before the answer is there, thousands of times, because a
 * program may resume any job at any time. ASYNC_pause_job() may also return at
 * once: between ASYNC_block_pause() and ASYNC_unblock_pause(), or when the
 * stack can't be switched. The thread must not spin then.
 */
void warprsa_async_pause(unsigned *pauses)
{
    static const struct timespec nap = {0, NAP_NS};
    uint64_t before = 0;
    int paused = 0, cancellation;

    if (++*pauses > UNTIMED_PAUSES)
        before = warprsa_clock_ns();
    paused = ASYNC_pause_job();
    if (!paused ||
        (before != 0 && warprsa_clock_ns() - before < SHORT_PAUSE_NS)) {
        cancellation = warprsa_cancellation_off();
        nanosleep(&nap, NULL);
        warprsa_cancellation_restore(cancellation);
    }
}

/* Empties the descriptor: a job that pauses with a readable descriptor is
 * resumed at once, again and again. An eventfd that nobody has written costs no
 * call. */
static void empty_fd(warprsa_async_wait *wait)
{
    char messages[64];
    uint64_t count = 0;

    if (wait->uses_notifier) {
        while (warprsa_marked_fd_is_there(wait->fd) &&
               recv(wait->fd.fd, messages, sizeof(messages), MSG_DONTWAIT) ==
                   (ssize_t)sizeof(messages))
            ;
    } else if (atomic_load_explicit(&wait->fd_written, memory_order_relaxed) &&
               atomic_exchange(&wait->fd_written, false) &&
               warprsa_marked_fd_is_there(wait->fd)) {
        ssize_t got;

        do
            got = read(wait->fd.fd, &count, sizeof(count));
        while (got < 0 && errno == EINTR);
        if (got < 0) /* it is about to be written */
            atomic_store(&wait->fd_written, true);
    }
}

/* ASYNC_pause_job() does not say whether it paused. */
bool warprsa_async_has_paused(void)
{
    ASYNC_JOB *job = ASYNC_get_current_job();
    size_t added = 0, deleted = 0;

    return job != NULL &&
           ASYNC_WAIT_CTX_get_changed_fds(ASYNC_get_wait_ctx(job), NULL, &added,
                                          NULL, &deleted) &&
           added == 0;
}

/* No reference is held meanwhile: a resumed job still has its wait ctx, and a
 * job that is never resumed does nothing more. */
void warprsa_async_wait_yield(void)
{
    static const warprsa_backend local = {&warprsa_backend_local, NULL};
    int cancellation = warprsa_cancellation_off();
    warprsa_async_wait *wait = wait_of_job(&local);

    if (wait != NULL && wait->callback == NULL &&
        warprsa_marked_eventfd_notify(wait->fd)) {
        atomic_store(&wait->fd_written, true);
        warprsa_cancellation_restore(cancellation);
        (void)ASYNC_pause_job();
        cancellation = warprsa_cancellation_off(); /* maybe another thread */
        /* In a forked child the descriptor is the parent's. */
        if (wait->generation == warprsa_fork_generation())
            empty_fd(wait);
        if (wait->fresh && warprsa_async_has_paused())
            wait->fresh = false;
    }
    if (wait != NULL) {
        atomic_store(&wait->waiting, false);
        withdraw_fd(wait);
    }
    warprsa_cancellation_restore(cancellation);
}

/* Collects an answer. The descriptor is emptied first: a later answer makes it
 * readable again. */
static warprsa_answer collect(warprsa_async_wait *wait,
                              const warprsa_backend *backend,
                              warprsa_ticket ticket, uint8_t *output)
{
    int cancellation = warprsa_cancellation_off();
    warprsa_answer answer;

    empty_fd(wait);
    answer = backend->ops->collect(backend->impl, ticket, output);
    warprsa_cancellation_restore(cancellation);
    return answer;
}

static warprsa_answer pause_until_answered(warprsa_async_wait *wait,
                                           const warprsa_instance *instance,
                                           const warprsa_backend *backend,
                                           warprsa_ticket ticket,
                                           uint8_t *output)
{
    warprsa_answer answer = WARPRSA_PENDING;
    unsigned pauses = 0;

    while (answer == WARPRSA_PENDING) {
        warprsa_async_pause(&pauses);
        if (!warprsa_instance_is_mine(instance))
            answer = WARPRSA_REFUSED; /* the parent's queue */
        else
            answer = collect(wait, backend, ticket, output);
    }
    atomic_store(&wait->waiting, false);
    if (!warprsa_instance_is_mine(instance))
        release_parents(wait);
    return answer;
}

warprsa_answer warprsa_async_wait_answer(warprsa_async_wait *wait,
                                         const warprsa_instance *instance,
                                         const warprsa_backend *backend,
                                         warprsa_ticket ticket, uint8_t *output)
{
    warprsa_answer answer;
    int cancellation;

    if (wait != NULL)
        return pause_until_answered(wait, instance, backend, ticket, output);
    cancellation = warprsa_cancellation_off();
    answer = backend->ops->wait(backend->impl, ticket, output);
    warprsa_cancellation_restore(cancellation);
    return answer;
}

void warprsa_async_wait_cancel(warprsa_async_wait *wait)
{
    if (wait == NULL)
        return;
    atomic_store(&wait->waiting, false);
    if (!wait->uses_notifier)
        release_queued(wait);
    withdraw_fd(wait);
}
