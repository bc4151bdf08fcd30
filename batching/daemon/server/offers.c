/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sessions on offer; see offers.h.
 */
#include "batching/daemon/server/offers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batching/base/clock.h"
#include "batching/daemon/wire/message.h"

enum {
    OFFER_MS = 5000,       /* until a session must be attached */
    IDENTITY_SLOTS = 8192, /* at least, for an identity of the network */
};

/* Owners that are identities; user ids have 32 bits. */
#define IDENTITIES (UINT64_C(1) << 63)

/* A session between WELCOME and ATTACHED. */
typedef struct warprsa_offer {
    TAILQ_ENTRY(warprsa_offer) link, own_link;
    warprsa_applicant *to;
    uint32_t number;
    uint32_t generation; /* of the CONNECT */
    uint64_t since_ns;
    warprsa_session *session;
} offer;

void warprsa_offers_log(const warprsa_offers *offers,
                        const warprsa_applicant *applicant, const char *what,
                        const char *why)
{
    const struct ucred *peer = &applicant->peer;

    warprsa_server_log_about(offers->context, peer->uid, 1,
                             "process %d (user %u) %s: %s", (int)peer->pid,
                             (unsigned)peer->uid, what, why);
}

static void end_offer(warprsa_offers *offers, offer *o)
{
    TAILQ_REMOVE(&offers->all, o, link);
    TAILQ_REMOVE(&o->to->offers, o, own_link);
    free(o);
}

/* Withdraws an offer. */
static void withdraw(warprsa_offers *offers, offer *o)
{
    warprsa_session_refuse(o->session);
    end_offer(offers, o);
}

bool warprsa_offers_withdraw_one(warprsa_offers *offers,
                                 warprsa_applicant *applicant)
{
    offer *o = TAILQ_FIRST(&applicant->offers);

    if (o != NULL)
        withdraw(offers, o);
    return o != NULL;
}

bool warprsa_offers_withdraw_overdue(warprsa_offers *offers)
{
    offer *o = TAILQ_FIRST(&offers->all);

    if (o == NULL ||
        warprsa_clock_ns() <= o->since_ns + OFFER_MS * WARPRSA_NS_PER_MS)
        return false;
    withdraw(offers, o);
    return true;
}

void warprsa_offers_withdraw_all(warprsa_offers *offers)
{
    offer *o;

    while ((o = TAILQ_FIRST(&offers->all)) != NULL)
        withdraw(offers, o);
}

/* The user that a CONNECT is for. NULL, or how the client broke the protocol:
 * only the gateway speaks for others. The gateway's process is part of an
 * identity's number, since two gateways number their identities
 * independently. */
static const char *user_of(const warprsa_applicant *a,
                           const warprsa_message *wanted,
                           warprsa_session_user *user)
{
    *user = (warprsa_session_user){.uid = a->peer.uid, .owner = a->peer.uid};
    if (wanted->identity == 0)
        return NULL;
    if (!a->is_gateway)
        return "it broke the protocol: it is not the gateway, and names an "
               "identity";
    if (wanted->name[0] == '\0' ||
        memchr(wanted->name, '\0', sizeof(wanted->name)) == NULL)
        return "it broke the protocol: an identity without a name";
    user->owner =
        IDENTITIES | (uint64_t)(uint32_t)a->peer.pid << 32 | wanted->identity;
    strcpy(user->identity, wanted->name);
    return NULL;
}

/* The limits of one session. */
static void get_limits(warprsa_server_context *context,
                       const warprsa_session_user *user,
                       warprsa_server_limits *limits)
{
    warprsa_server_context_get_limits(context, limits);
    /* A host of the network has many programs behind it. */
    if (user->identity[0] != '\0' && limits->slots < IDENTITY_SLOTS)
        limits->slots = IDENTITY_SLOTS;
}

/* The session that a CONNECT is granted, or NULL and *why_not. */
static warprsa_session *new_session(warprsa_server_context *context,
                                    const warprsa_session_user *user,
                                    const warprsa_message *wanted, int *end,
                                    const char **why_not)
{
    warprsa_server_limits limits;
    warprsa_session *session;

    get_limits(context, user, &limits);
    *why_not = warprsa_session_take_seat(context, user, &limits);
    if (*why_not != NULL)
        return NULL;
    session = warprsa_session_new(context, user, wanted, &limits, end);
    if (session == NULL)
        *why_not = "no memory or descriptor";
    return session;
}

/* Why a message to a client was not sent. */
static const char *why_not_sent(int error)
{
    switch (error) {
    case EPIPE:
    case ECONNRESET:
        return "it has gone";
    case EAGAIN:
        return "it does not read";
    case ETOOMANYREFS:
        return "too many descriptors are on their way";
    }
    return strerror(error);
}

/* Sends WELCOME with all that the client needs of a session. NULL, or why it
 * was not sent. */
static const char *send_offer(const offer *o, int end)
{
    const warprsa_session *s = o->session;
    const int fds[WARPRSA_MESSAGE_FDS] = {end, s->memory, s->eventfd};
    warprsa_message welcome = {.type = WARPRSA_MESSAGE_WELCOME,
                               .number = o->number,
                               .generation = o->generation,
                               .slots = s->shm.slots,
                               .keys = s->keys_max,
                               .notifiers = s->notifiers_max,
                               .uses = s->shm.use != NULL,
                               .deadline_ms = s->context->config.deadline_ms,
                               .identity = o->to->is_gateway};

    return warprsa_message_send(o->to->socket, &welcome, fds,
                                WARPRSA_MESSAGE_FDS)
               ? NULL
               : why_not_sent(errno);
}

static const char *make_offer(warprsa_offers *offers, warprsa_applicant *a,
                              const warprsa_session_user *user,
                              const warprsa_message *wanted)
{
    offer *o = calloc(1, sizeof(*o));
    const char *why_not = NULL;
    int end;

    if (o == NULL)
        return "no memory";
    o->session = new_session(offers->context, user, wanted, &end, &why_not);
    if (o->session == NULL) {
        free(o);
        return why_not;
    }
    o->to = a;
    o->number = ++a->offered;
    o->generation = wanted->generation;
    o->since_ns = warprsa_clock_ns();
    TAILQ_INSERT_TAIL(&offers->all, o, link);
    TAILQ_INSERT_TAIL(&a->offers, o, own_link);
    why_not = send_offer(o, end);
    close(end);
    if (why_not != NULL)
        withdraw(offers, o);
    return why_not;
}

void warprsa_offers_refuse(const warprsa_applicant *a, uint32_t generation)
{
    warprsa_message refused = {.type = WARPRSA_MESSAGE_REFUSED,
                               .generation = generation};

    (void)warprsa_message_send(a->socket, &refused, NULL, 0);
}

/* A session costs memory and three descriptors, so a client that has gone gets
 * none. */
const char *warprsa_offers_connect(warprsa_offers *offers, warprsa_applicant *a,
                                   const warprsa_message *wanted)
{
    warprsa_session_user user;
    const char *wrong = user_of(a, wanted, &user), *why_not;
    char what[WARPRSA_IDENTITY_NAME + 32] = "is refused";

    if (wrong != NULL || a->has_gone)
        return wrong;
    why_not = make_offer(offers, a, &user, wanted);
    if (why_not == NULL)
        return NULL;
    if (user.identity[0] != '\0')
        snprintf(what, sizeof(what), "is refused for %s", user.identity);
    warprsa_offers_log(offers, a, what, why_not);
    warprsa_offers_refuse(a, wanted->generation);
    return NULL;
}

/* A number that is not on offer belonged to an offer that was withdrawn. */
warprsa_session *warprsa_offers_attach(warprsa_offers *offers,
                                       warprsa_applicant *a, uint32_t number,
                                       const struct ucred *sender)
{
    warprsa_session *session;
    warprsa_peer peer;
    offer *o;

    TAILQ_FOREACH (o, &a->offers, own_link)
        if (o->number == number)
            break;
    if (o == NULL)
        return NULL;
    session = o->session;
    warprsa_peer_find(&peer, a->socket, sender);
    if (!warprsa_session_attach(session, &peer)) {
        warprsa_offers_log(offers, a, "is refused",
                           "its shared memory is not allocated, or can't be "
                           "sealed");
        withdraw(offers, o);
        return NULL;
    }
    end_offer(offers, o);
    return session;
}
