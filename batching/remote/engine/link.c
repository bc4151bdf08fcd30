/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A connection to another host; see link.h.
 */
#include "batching/remote/engine/link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "batching/base/clock.h"

enum {
    CONNECT_MS = 3000, /* for each address */
    WELCOME_MS = 5000, /* for handshake and welcome */
    TICK_MS = 500,
    QUIET_MS = 1000,  /* then it is asked for a sign of life */
    ANSWER_MS = 4000, /* for that; then it has gone */
};

struct warprsa_link {
    const warprsa_link_handlers *handlers;
    void *arg;
    warprsa_http2 *http2;
    warprsa_http2_stream *stream; /* NULL once it has closed */
    warprsa_address address;
    bool is_further; /* this process has another session with the host */
    warprsa_remote_welcome welcome;
    bool welcomed;
    char why[WARPRSA_TLS_WHY]; /* why the session has ended; empty: it hasn't */
    uint64_t trusted_ns;
    uint64_t sent, received; /* bytes, as far as told */
    pthread_t thread;
    bool has_thread;
    int eventfd;
    pthread_mutex_t lock; /* of what follows */
    warprsa_bytes outbox;
    bool closing;
    _Atomic bool lost;
    warprsa_remote_response response; /* the thread's, too large for a stack */
};

static void connected(warprsa_http2 *http2)
{
    warprsa_link *link = http2->owner;

    link->stream = warprsa_http2_call(http2, link->address.host,
                                      link->is_further
                                          ? WARPRSA_REMOTE_OPERATE_FURTHER_PATH
                                          : WARPRSA_REMOTE_OPERATE_PATH);
    if (link->stream != NULL) {
        link->stream->owner = link;
        link->stream->message_max = WARPRSA_REMOTE_MESSAGE_MAX;
    }
}

static const char *message(warprsa_http2_stream *stream, const uint8_t *bytes,
                           size_t size)
{
    warprsa_link *link = stream->owner;
    const char *wrong =
        warprsa_remote_read_response(bytes, size, &link->response);

    if (wrong == NULL && link->response.kind == WARPRSA_REMOTE_WELCOME) {
        link->welcome = link->response.welcome;
        wrong = link->welcomed ? "a second welcome" : NULL;
        link->welcomed = true;
    } else if (wrong == NULL) {
        wrong = link->handlers->response(link->arg, &link->response);
    }
    if (wrong != NULL && link->why[0] == '\0')
        snprintf(link->why, sizeof(link->why),
                 "the host broke the protocol: %s", wrong);
    return wrong;
}

/* A server ends a session with its last frame, so closed() comes at once. */
static void half_closed(warprsa_http2_stream *stream)
{
    (void)stream;
}

static void closed(warprsa_http2_stream *stream)
{
    warprsa_link *link = stream->owner;

    if (link == NULL)
        return;
    link->stream = NULL;
    if (link->why[0] == '\0')
        snprintf(link->why, sizeof(link->why),
                 "the host ended the session: status %d %s", stream->status,
                 stream->status_text);
}

static void begin(warprsa_http2_stream *stream)
{
    (void)stream; /* a client's stream never begins a call */
}

static const warprsa_http2_handlers handlers = {
    .connected = connected,
    .begin = begin,
    .message = message,
    .half_closed = half_closed,
    .closed = closed,
};

static void tell_traffic(warprsa_link *link)
{
    uint64_t sent, received;

    warprsa_http2_traffic(link->http2, &sent, &received);
    link->handlers->traffic(link->arg, sent - link->sent,
                            received - link->received);
    link->sent = sent;
    link->received = received;
}

/* Reads and writes. False: the link has ended, for the reason in `why`. */
static bool run(warprsa_link *link)
{
    bool goes_on = warprsa_http2_run(link->http2);

    tell_traffic(link);
    if (link->why[0] == '\0' && !goes_on)
        snprintf(link->why, sizeof(link->why), "%s", link->http2->why);
    if (link->why[0] == '\0' && link->http2->session != NULL &&
        link->stream == NULL)
        snprintf(link->why, sizeof(link->why), "no memory");
    return link->why[0] == '\0';
}

/* Waits for the socket or the eventfd. */
static void wait_for(const warprsa_link *link, uint64_t ms)
{
    uint32_t events = warprsa_http2_events(link->http2);
    struct pollfd fds[] = {
        {.fd = link->http2->input.socket,
         .events = (short)(((events & EPOLLIN) != 0 ? POLLIN : 0) |
                           ((events & EPOLLOUT) != 0 ? POLLOUT : 0))},
        {.fd = link->eventfd, .events = POLLIN},
    };
    uint64_t count;

    (void)poll(fds, 2, link->http2->unread ? 0 : (int)ms);
    if ((fds[1].revents & POLLIN) != 0)
        while (read(link->eventfd, &count, sizeof(count)) < 0 && errno == EINTR)
            ;
}

/* Runs the link until the host has sent its welcome. */
static bool wait_for_welcome(warprsa_link *link)
{
    const uint64_t until = warprsa_clock_ns() + WELCOME_MS * WARPRSA_NS_PER_MS;

    while (run(link)) {
        uint64_t now = warprsa_clock_ns();

        if (link->welcomed)
            return true;
        if (now >= until) {
            snprintf(link->why, sizeof(link->why), "no welcome within 5 s");
            return false;
        }
        wait_for(link, (until - now) / WARPRSA_NS_PER_MS + 1);
    }
    return false;
}

/* Moves what others have written to the stream. False: no memory. */
static bool send_outbox(warprsa_link *link)
{
    warprsa_bytes out;
    uint8_t *to;
    size_t size;

    pthread_mutex_lock(&link->lock);
    out = link->outbox;
    memset(&link->outbox, 0, sizeof(link->outbox));
    pthread_mutex_unlock(&link->lock);
    size = warprsa_bytes_waiting(&out);
    if (size == 0 || link->stream == NULL) {
        warprsa_bytes_free(&out);
        return true;
    }
    to = warprsa_http2_reserve(link->stream, size);
    if (to != NULL) {
        memcpy(to, out.bytes + out.from, size);
        warprsa_http2_sent(link->stream, size);
    } else {
        snprintf(link->why, sizeof(link->why), "no memory");
    }
    warprsa_bytes_free(&out);
    return to != NULL;
}

/* Whether the host is there: it is asked now and then. To be called after
 * run(): if this thread was stopped meanwhile, the answer has then been
 * read. */
static bool is_alive(warprsa_link *link)
{
    const uint64_t now_ns = warprsa_clock_ns();

    if (warprsa_http2_is_silent(link->http2, now_ns, ANSWER_MS)) {
        snprintf(link->why, sizeof(link->why), "not heard of for 5 s");
        return false;
    }
    return !warprsa_http2_keep_alive(link->http2, now_ns, QUIET_MS) ||
           run(link);
}

/* Checks the host's certificate now and then. */
static bool is_trusted(warprsa_link *link)
{
    const uint64_t now_ns = warprsa_clock_ns();

    if (now_ns < link->trusted_ns + TICK_MS * WARPRSA_NS_PER_MS)
        return true;
    link->trusted_ns = now_ns;
    return link->handlers->is_trusted(link->arg, link->http2->ssl, link->why);
}

static bool is_closing(warprsa_link *link)
{
    bool closing;

    pthread_mutex_lock(&link->lock);
    closing = link->closing;
    pthread_mutex_unlock(&link->lock);
    return closing;
}

static void *run_thread(void *arg)
{
    warprsa_link *link = arg;

    while (!is_closing(link)) {
        if (!send_outbox(link) || !run(link) || !is_alive(link) ||
            !is_trusted(link)) {
            atomic_store(&link->lost, true);
            link->handlers->lost(link->arg, link->why);
            break;
        }
        wait_for(link, TICK_MS);
    }
    return NULL;
}

/* Starts a thread that takes no signals. */
static bool start_thread(warprsa_link *link)
{
    sigset_t all, old;

    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
        return false;
    link->has_thread =
        pthread_create(&link->thread, NULL, run_thread, link) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return link->has_thread;
}

/* Connects; false with the reason in link->why. */
static bool connect_link(warprsa_link *link, warprsa_tls *tls)
{
    int one = warprsa_address_connect(&link->address, CONNECT_MS, link->why,
                                      sizeof(link->why));

    if (one < 0)
        return false;
    warprsa_address_no_delay(one);
    link->http2 =
        warprsa_http2_new(tls, one, link->address.host, &handlers, link);
    if (link->http2 == NULL) {
        snprintf(link->why, sizeof(link->why), "no memory");
        return false;
    }
    if (!wait_for_welcome(link))
        return false;
    if (!start_thread(link)) {
        snprintf(link->why, sizeof(link->why), "no thread");
        return false;
    }
    return true;
}

warprsa_link *warprsa_link_open(warprsa_tls *tls,
                                const warprsa_address *address, bool is_further,
                                const warprsa_link_handlers *link_handlers,
                                void *arg, warprsa_remote_welcome *welcome,
                                char *why, size_t why_size)
{
    warprsa_link *link = calloc(1, sizeof(*link));

    snprintf(why, why_size, "no memory");
    if (link == NULL)
        return NULL;
    link->handlers = link_handlers;
    link->arg = arg;
    link->address = *address;
    link->is_further = is_further;
    link->eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (link->eventfd < 0 || pthread_mutex_init(&link->lock, NULL) != 0) {
        if (link->eventfd >= 0)
            close(link->eventfd);
        free(link);
        return NULL;
    }
    if (connect_link(link, tls)) {
        *welcome = link->welcome;
        return link;
    }
    snprintf(why, why_size, "%s", link->why);
    warprsa_link_close(link);
    return NULL;
}

static void wake(const warprsa_link *link)
{
    static const uint64_t one = 1;

    /* This fails only if the counter is at its maximum, and then the thread is
     * awake. */
    (void)!write(link->eventfd, &one, sizeof(one));
}

void warprsa_link_close(warprsa_link *link)
{
    pthread_mutex_lock(&link->lock);
    link->closing = true;
    pthread_mutex_unlock(&link->lock);
    if (link->has_thread) {
        wake(link);
        pthread_join(link->thread, NULL);
    }
    if (link->http2 != NULL)
        warprsa_http2_free(link->http2);
    warprsa_bytes_free(&link->outbox);
    pthread_mutex_destroy(&link->lock);
    close(link->eventfd);
    free(link);
}

uint8_t *warprsa_link_begin(warprsa_link *link, size_t room)
{
    uint8_t *to;

    pthread_mutex_lock(&link->lock);
    to = warprsa_bytes_reserve(&link->outbox, room);
    if (to == NULL)
        pthread_mutex_unlock(&link->lock);
    return to;
}

void warprsa_link_end(warprsa_link *link, size_t size)
{
    bool first = warprsa_bytes_waiting(&link->outbox) == 0;

    link->outbox.to += size;
    pthread_mutex_unlock(&link->lock);
    if (first)
        wake(link);
}

bool warprsa_link_is_lost(warprsa_link *link)
{
    return atomic_load(&link->lost);
}
