/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's connection as the server sees it; see host_connection.h.
 */
#include "batching/remote/server/host_connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/base/container_of.h"

enum {
    HANDSHAKE_MS = 10000,
    STRANGER_MS = 2000, /* for one without an identity to see why */
    QUIET_MS = 10000,   /* then it is asked for a sign of life */
    ANSWER_MS = 10000,  /* for that; then it has gone */
};

/* What serves a call: one of the two. */
typedef struct call {
    warprsa_operate *operate; /* or */
    warprsa_health *health;
} call;

static warprsa_remote_connection *
connection_of(const warprsa_http2_stream *stream)
{
    return stream->connection->owner;
}

/* Says how many lines about an identity, or about strangers (NULL), were left
 * out before this second. */
static void log_left_out(warprsa_remote_connection_host *host,
                         warprsa_identity *identity, uint64_t now_ns)
{
    char line[WARPRSA_TLS_NAME + 80];
    uint64_t count = warprsa_log_budget_left_out(
        identity != NULL ? &identity->log : host->strangers_log, now_ns);

    if (count == 0)
        return;
    snprintf(line, sizeof(line), "%llu lines about %s were left out",
             (unsigned long long)count,
             identity != NULL ? identity->name : "strangers");
    host->log(host, line);
}

static void log_line(warprsa_remote_connection *c, const char *what,
                     const char *details)
{
    char line[WARPRSA_TLS_WHY + WARPRSA_TLS_NAME + 200];
    const uint64_t now_ns = warprsa_clock_ns();

    log_left_out(c->host, c->identity, now_ns);
    if (!warprsa_log_budget_take(c->identity != NULL ? &c->identity->log
                                                     : c->host->strangers_log,
                                 WARPRSA_LOG_LINES_A_SECOND, now_ns))
        return;
    snprintf(line, sizeof(line), "%s (%s): %s%s", c->peer,
             c->identity != NULL ? c->identity->name : "unknown", what,
             details);
    c->host->log(c->host, line);
}

/* Replaces a stranger's place by a seat. False: all seats are taken. */
static bool take_seat(warprsa_remote_connection *c)
{
    warprsa_seats *seats = c->host->seats;

    if (atomic_fetch_add(&seats->taken, 1) >= seats->most) {
        atomic_fetch_sub(&seats->taken, 1);
        return false;
    }
    warprsa_strangers_remove(&c->host->strangers, &c->stranger);
    return true;
}

static bool is_listed(void *arg, const char *name)
{
    warprsa_remote_connection *c = arg;

    c->identity = warprsa_identities_find(c->host->identities, name);
    if (c->identity == NULL)
        return false;
    if (warprsa_identity_begin_connection(c->identity)) {
        if (take_seat(c))
            return true;
        warprsa_identity_end_connection(c->identity);
    }
    log_line(c, "refused: too many connections", "");
    warprsa_identities_release(c->host->identities, c->identity);
    c->identity = NULL;
    return true;
}

/* Collects the names of a certificate that are not in the map. */
static bool add_name(void *arg, const char *name)
{
    char *names = arg;

    if (strlen(names) + strlen(name) + 3 < WARPRSA_TLS_WHY) {
        strcat(names, " ");
        strcat(names, name);
    }
    return false;
}

static void connected(warprsa_http2 *http2)
{
    warprsa_remote_connection *c = http2->owner;
    char names[WARPRSA_TLS_WHY] = "";

    if (warprsa_tls_identities(http2->ssl, is_listed, c)) {
        if (c->identity != NULL)
            log_line(c, "connected", "");
        return;
    }
    (void)warprsa_tls_identities(http2->ssl, add_name, names);
    log_line(c,
             "refused: no identity of the certificate is in the map:", names);
}

static void refuse(warprsa_http2_stream *stream, warprsa_grpc_status status,
                   const char *why)
{
    warprsa_remote_connection *c = connection_of(stream);

    log_line(c, "call refused: ", why);
    warprsa_http2_finish(stream, status, why);
}

/* Counts one more session of an identity. False: it has too many. Half of the
 * seats are for connections that are needed. */
static bool begin_session(const warprsa_remote_connection *c, bool is_further)
{
    const warprsa_seats *seats = c->host->seats;

    if (!is_further)
        return warprsa_identity_begin_session(c->identity);
    return atomic_load(&seats->taken) <= seats->most / 2 &&
           warprsa_identity_begin_further(c->identity);
}

static void end_session(warprsa_identity *identity, bool is_further)
{
    if (is_further)
        warprsa_identity_end_further(identity);
    else
        warprsa_identity_end_session(identity);
}

static void begin_operate(warprsa_http2_stream *stream, call *serves,
                          bool is_further)
{
    warprsa_remote_connection *c = connection_of(stream);

    if (!begin_session(c, is_further)) {
        refuse(stream, WARPRSA_GRPC_RESOURCE_EXHAUSTED,
               is_further ? "the identity has enough sessions"
                          : "the identity has too many sessions");
        return;
    }
    serves->operate =
        warprsa_operate_new(&c->host->operate, stream, c->identity, is_further);
    if (serves->operate == NULL) {
        end_session(c->identity, is_further);
        refuse(stream, WARPRSA_GRPC_RESOURCE_EXHAUSTED, "no memory");
        return;
    }
    warprsa_identities_hold(c->host->identities, c->identity);
    LIST_INSERT_HEAD(&c->host->sessions, serves->operate, link);
}

static void begin(warprsa_http2_stream *stream)
{
    warprsa_remote_connection *c = connection_of(stream);
    call *serves = calloc(1, sizeof(*serves));
    bool watches;

    stream->owner = serves;
    if (serves == NULL) {
        refuse(stream, WARPRSA_GRPC_RESOURCE_EXHAUSTED, "no memory");
    } else if (c->identity == NULL || c->revoked) {
        refuse(stream, WARPRSA_GRPC_PERMISSION_DENIED,
               "the certificate names nobody who may connect");
    } else if (strcmp(stream->path, WARPRSA_REMOTE_OPERATE_PATH) == 0) {
        begin_operate(stream, serves, false);
    } else if (strcmp(stream->path, WARPRSA_REMOTE_OPERATE_FURTHER_PATH) == 0) {
        begin_operate(stream, serves, true);
    } else if (warprsa_health_is_path(stream->path, &watches)) {
        serves->health = calloc(1, sizeof(*serves->health));
        if (serves->health != NULL)
            *serves->health = (warprsa_health){
                .stream = stream, .watches = watches, .told = -1};
    } else {
        refuse(stream, WARPRSA_GRPC_UNIMPLEMENTED, "no such method");
    }
}

static const char *message(warprsa_http2_stream *stream, const uint8_t *bytes,
                           size_t size)
{
    warprsa_remote_connection *c = connection_of(stream);
    call *serves = stream->owner;
    const char *wrong = NULL;

    if (serves != NULL && serves->operate != NULL) {
        wrong = warprsa_operate_message(serves->operate, bytes, size);
        if (wrong != NULL)
            log_line(c, "session ended, it broke the protocol: ", wrong);
        return wrong;
    }
    if (serves == NULL || serves->health == NULL)
        return "no memory";
    wrong = warprsa_health_message(serves->health, bytes, size);
    if (wrong == NULL)
        warprsa_health_tell(serves->health, &c->host->health);
    return wrong;
}

static void half_closed(warprsa_http2_stream *stream)
{
    call *serves = stream->owner;

    if (serves != NULL && serves->operate != NULL)
        warprsa_operate_half_closed(serves->operate);
    if (serves != NULL && serves->health != NULL)
        warprsa_health_half_closed(serves->health);
}

/* A session stays in the host's list while events of this round may point to
 * it. */
static void closed(warprsa_http2_stream *stream)
{
    warprsa_remote_connection *c = connection_of(stream);
    call *serves = stream->owner;
    char text[64];

    if (serves == NULL)
        return;
    if (serves->operate != NULL) {
        snprintf(text, sizeof(text), "%llu operations",
                 (unsigned long long)serves->operate->operations);
        log_line(c, "session has ended: ", text);
        warprsa_operate_closed(serves->operate);
        c->host->closed_sessions++;
    }
    free(serves->health);
    free(serves);
    stream->owner = NULL;
}

static const warprsa_http2_handlers handlers = {
    .connected = connected,
    .begin = begin,
    .message = message,
    .half_closed = half_closed,
    .closed = closed,
};

/* The owner whose turn a connection uses. Strangers share two owners, chosen by
 * address, so they have two turns in a round; the numbers of identities are
 * larger. */
static uint64_t owner_of(const warprsa_remote_connection *c)
{
    return c->identity != NULL ? c->identity->number
                               : c->stranger.address[3] & 1;
}

static void make_ready(warprsa_remote_connection *c)
{
    warprsa_rounds_add(&c->host->ready, &c->ready, owner_of(c));
}

static void ready(warprsa_event_source *source)
{
    make_ready(WARPRSA_CONTAINER_OF(source, warprsa_remote_connection, source));
}

/* Gives a newcomer a place; another stranger may have to leave for it. */
static void take_place(warprsa_remote_connection *c,
                       const struct sockaddr *from)
{
    warprsa_stranger *goes =
        warprsa_strangers_add(&c->host->strangers, &c->stranger, from);
    warprsa_remote_connection *other;

    if (goes == NULL)
        return;
    other = WARPRSA_CONTAINER_OF(goes, warprsa_remote_connection, stranger);
    snprintf(other->http2->why, sizeof(other->http2->why),
             "made room for another stranger");
    other->ended = true;
}

warprsa_remote_connection *
warprsa_remote_connection_new(warprsa_remote_connection_host *host, int socket,
                              const struct sockaddr *from, const char *peer)
{
    warprsa_remote_connection *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        close(socket);
        return NULL;
    }
    c->host = host;
    c->source.ready = ready;
    c->begun_ns = warprsa_clock_ns();
    snprintf(c->peer, sizeof(c->peer), "%s", peer);
    c->http2 = warprsa_http2_new(host->tls, socket, NULL, &handlers, c);
    if (c->http2 == NULL) {
        free(c);
        return NULL;
    }
    take_place(c, from);
    c->events = warprsa_http2_events(c->http2);
    if (!warprsa_event_source_watch(host->epoll, socket, c->events,
                                    &c->source)) {
        snprintf(c->http2->why, sizeof(c->http2->why), "%s", strerror(errno));
        c->ended = true;
    }
    return c;
}

/* Sets what epoll waits for, after a connection has read or written. */
static void watch(warprsa_remote_connection *c, bool goes_on)
{
    struct epoll_event event = {.data.ptr = &c->source};

    c->ended = !goes_on;
    event.events = warprsa_http2_events(c->http2);
    if (c->ended || event.events == c->events)
        return;
    c->events = event.events;
    if (epoll_ctl(c->host->epoll, EPOLL_CTL_MOD, c->http2->input.socket,
                  &event) != 0)
        c->ended = true;
}

static void run(warprsa_remote_connection *c)
{
    if (c->ended)
        return;
    watch(c, warprsa_http2_run(c->http2));
    c->stranger.has_spoken = c->http2->input.received > 0;
    if (!c->ended && c->http2->unread)
        make_ready(c);
}

/* Writes what is ready; the connection may have `ended` after this. */
static void flush(warprsa_remote_connection *c)
{
    if (!c->ended)
        watch(c, warprsa_http2_flush(c->http2));
}

void warprsa_remote_connection_run_ready(warprsa_remote_connection_host *host)
{
    warprsa_rounds_entry *entry;

    warprsa_rounds_begin(&host->ready);
    while ((entry = warprsa_rounds_next(&host->ready)) != NULL)
        run(WARPRSA_CONTAINER_OF(entry, warprsa_remote_connection, ready));
}

/* Whether the peer may no longer be served; the reason is in *why. */
static bool is_revoked(warprsa_remote_connection *c, const char **why)
{
    if (c->http2->session == NULL || c->identity == NULL)
        return false;
    *why = "the identity was removed from the map";
    if (atomic_load(&c->identity->removed))
        return true;
    *why = c->http2->why;
    return !warprsa_tls_still_valid(c->host->tls, c->http2->ssl,
                                    &c->tls_checked, c->http2->why);
}

/* Ends all calls, which wipes their keys. The connection lives for one more
 * tick, so that the peer gets the reason. */
static void end_calls(warprsa_remote_connection *c, const char *why)
{
    warprsa_http2_stream *stream, *next;

    c->revoked = true;
    for (stream = LIST_FIRST(&c->http2->streams); stream != NULL;
         stream = next) {
        next = LIST_NEXT(stream, link);
        if (!stream->ending)
            refuse(stream, WARPRSA_GRPC_PERMISSION_DENIED, why);
    }
    if (why != c->http2->why)
        snprintf(c->http2->why, sizeof(c->http2->why), "%s", why);
    log_line(c, "connection ended: ", why);
    warprsa_http2_go_away(c->http2);
    c->went_away = true;
}

/* Whether the connection has to end; the reason is in its `why`. */
static bool is_over(warprsa_remote_connection *c, uint64_t now_ns)
{
    const uint64_t age_ns = now_ns - c->begun_ns;
    const char *why = NULL;

    if (c->http2->session == NULL && age_ns > HANDSHAKE_MS * WARPRSA_NS_PER_MS)
        why = "no handshake within 10 s";
    else if (c->http2->session != NULL && c->identity == NULL &&
             age_ns > STRANGER_MS * WARPRSA_NS_PER_MS)
        why = "refused";
    else if (warprsa_http2_is_silent(c->http2, now_ns, ANSWER_MS))
        why = "not heard of for 20 s";
    if (why != NULL)
        snprintf(c->http2->why, sizeof(c->http2->why), "%s", why);
    return why != NULL;
}

/* Ticks the calls without writing, since writing frees streams. */
static void tick_streams(const warprsa_remote_connection *c)
{
    warprsa_http2_stream *stream;

    LIST_FOREACH (stream, &c->http2->streams, link) {
        const call *serves = stream->owner;

        if (serves == NULL)
            continue;
        if (serves->operate != NULL)
            warprsa_operate_drain(serves->operate);
        if (serves->health != NULL)
            warprsa_health_tell(serves->health, &c->host->health);
    }
}

void warprsa_remote_connection_tick(warprsa_remote_connection *c,
                                    uint64_t now_ns)
{
    const char *why;

    if (c->ended)
        return;
    if (c->identity != NULL)
        log_left_out(c->host, c->identity, now_ns);
    /* Received data is read first: this thread may have been stopped. */
    if (!c->revoked && is_over(c, now_ns)) {
        run(c);
        c->ended = c->ended || is_over(c, now_ns);
    }
    c->ended = c->ended || c->revoked;
    if (c->ended)
        return;
    if (is_revoked(c, &why))
        end_calls(c, why);
    tick_streams(c);
    if (c->host->operate.draining && !c->went_away) {
        c->went_away = true;
        warprsa_http2_go_away(c->http2);
    }
    (void)warprsa_http2_keep_alive(c->http2, now_ns, QUIET_MS);
    flush(c);
}

void warprsa_remote_connection_written(warprsa_operate *session)
{
    warprsa_remote_connection *c = connection_of(session->stream);

    flush(c);
    if (!c->ended && c->http2->unread)
        make_ready(c);
}

void warprsa_remote_connection_refuse(warprsa_operate *session,
                                      warprsa_grpc_status status,
                                      const char *why)
{
    refuse(session->stream, status, why);
}

void warprsa_remote_connection_tick_strangers(
    warprsa_remote_connection_host *host, uint64_t now_ns)
{
    log_left_out(host, NULL, now_ns);
}

void warprsa_remote_connection_end_sessions(
    warprsa_remote_connection_host *host)
{
    warprsa_operate *s = LIST_FIRST(&host->sessions), *next;

    for (; s != NULL && host->closed_sessions > 0; s = next) {
        warprsa_identity *identity = s->identity;
        const bool is_further = s->is_further;

        next = LIST_NEXT(s, link);
        if (!warprsa_operate_is_over(s))
            continue;
        host->closed_sessions--;
        LIST_REMOVE(s, link);
        warprsa_operate_free(s);
        end_session(identity, is_further);
        warprsa_identities_release(host->identities, identity);
    }
}

void warprsa_remote_connection_free(warprsa_remote_connection *c)
{
    char text[96];

    snprintf(text, sizeof(text), "; %llu bytes read, %llu written",
             (unsigned long long)c->http2->bytes_read,
             (unsigned long long)c->http2->bytes_written);
    log_line(c, c->http2->why, text);
    (void)epoll_ctl(c->host->epoll, EPOLL_CTL_DEL, c->http2->input.socket,
                    NULL);
    warprsa_rounds_remove(&c->host->ready, &c->ready);
    warprsa_strangers_remove(&c->host->strangers, &c->stranger);
    warprsa_http2_free(c->http2);
    if (c->identity != NULL) {
        atomic_fetch_sub(&c->host->seats->taken, 1);
        warprsa_identity_end_connection(c->identity);
        warprsa_identities_release(c->host->identities, c->identity);
    }
    free(c);
}
