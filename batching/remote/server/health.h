/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service grpc.health.v1.Health of gRPC's health checking protocol: whether
 * the server serves, once (Check) or at each change (Watch). A client can ask
 * for the server as a whole, for PrivateOperations, or for
 * "warprsa.configuration", which says whether the last reload found no mistake.
 */
#ifndef WARPRSA_BATCHING_REMOTE_SERVER_HEALTH_H
#define WARPRSA_BATCHING_REMOTE_SERVER_HEALTH_H

#include "batching/remote/wire/http2.h"

/* What clients are told. */
typedef struct warprsa_health_state {
    bool serving, configured;
} warprsa_health_state;

typedef struct warprsa_health {
    warprsa_http2_stream *stream;
    bool watches, known; /* the service that it asks for is one of ours */
    bool asks_configuration;
    bool asked;
    int told; /* the last status sent; -1: none */
} warprsa_health;

/* Whether this is the path of Check or Watch, which *watches tells apart. */
bool warprsa_health_is_path(const char *path, bool *watches);

/* Reads the client's message, which names a service. NULL, or what is wrong. */
const char *warprsa_health_message(warprsa_health *health, const uint8_t *bytes,
                                   size_t size);

/* The client sends no more: ends a call that has asked nothing. */
void warprsa_health_half_closed(warprsa_health *health);

/* Answers the client's question; again if the answer has changed and the client
 * watches. */
void warprsa_health_tell(warprsa_health *health,
                         const warprsa_health_state *state);

#endif
