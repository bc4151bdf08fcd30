/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sessions on offer: made for a client that has asked for one by CONNECT and
 * was sent WELCOME, until it accepts by ATTACHED, or the offer is withdrawn.
 * They belong to the acceptor's thread.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SERVER_OFFERS_H
#define WARPRSA_BATCHING_DAEMON_SERVER_OFFERS_H

#include <sys/socket.h>

#include "batching/daemon/server/session.h"

struct warprsa_offer;

TAILQ_HEAD(warprsa_offer_list, warprsa_offer);

/* What is known of a client: what the kernel says of its control connection,
 * and what it was offered over that. */
typedef struct warprsa_applicant {
    int socket;
    struct ucred peer; /* its user as warprsa_server_user() has it */
    bool is_gateway;   /* it is believed about identities of the network */
    bool has_gone;     /* it has closed its end; as of this turn */
    uint32_t offered;  /* sessions, ever: the number of the last one */
    struct warprsa_offer_list offers;
} warprsa_applicant;

typedef struct warprsa_offers {
    warprsa_server_context *context;
    struct warprsa_offer_list all; /* the oldest first */
} warprsa_offers;

/* Logs what happens to a client, and why. */
void warprsa_offers_log(const warprsa_offers *offers,
                        const warprsa_applicant *applicant, const char *what,
                        const char *why);

/* Makes and sends an offer, or REFUSED. NULL, or how the client broke the
 * protocol. */
const char *warprsa_offers_connect(warprsa_offers *offers,
                                   warprsa_applicant *applicant,
                                   const warprsa_message *wanted);

/* Sends that there is no session. */
void warprsa_offers_refuse(const warprsa_applicant *applicant,
                           uint32_t generation);

/* The session of the offer with this number, which `sender` has accepted;
 * NULL: there is none, or it is of no use. */
warprsa_session *warprsa_offers_attach(warprsa_offers *offers,
                                       warprsa_applicant *applicant,
                                       uint32_t number,
                                       const struct ucred *sender);

/* Withdraws an applicant's oldest offer. False: it had none. */
bool warprsa_offers_withdraw_one(warprsa_offers *offers,
                                 warprsa_applicant *applicant);

/* Withdraws the oldest offer if nobody has accepted it in time, and returns
 * whether it did. Freeing a session takes as long as making one, so the next
 * offer waits for the next round. */
bool warprsa_offers_withdraw_overdue(warprsa_offers *offers);

/* At the end. */
void warprsa_offers_withdraw_all(warprsa_offers *offers);

#endif
