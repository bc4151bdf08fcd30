/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client's requests: submitting them, and collecting or waiting for answers,
 * as backend.h says.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_REQUESTS_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_CLIENT_REQUESTS_H

#include "batching/daemon/client/client_state.h"

warprsa_answer warprsa_client_submit(void *impl, warprsa_backend_key *key,
                                     const uint8_t *input,
                                     warprsa_notify notify, uint32_t notifier,
                                     warprsa_ticket *ticket);
warprsa_answer warprsa_client_collect(void *impl, warprsa_ticket ticket,
                                      uint8_t *output);
warprsa_answer warprsa_client_wait(void *impl, warprsa_ticket ticket,
                                   uint8_t *output);

#endif
