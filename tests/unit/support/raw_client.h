/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A client of the daemon that sends and shares what it likes. Whatever has to
 * succeed here and does not, fails the test.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_RAW_CLIENT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_RAW_CLIENT_H

#include "tests/unit/support/wait_until.h"

#include "batching/daemon/client/control_connection.h"
#include "batching/daemon/wire/message.h"
#include "batching/daemon/wire/shm.h"
#include "batching/queue/queue_types.h"

/* Whether something can be read there, or has ended, within LONG_MS. */
bool becomes_readable(int fd);

typedef struct raw_client {
    warprsa_control_connection control_connection;
    int socket;
    int memory, eventfd;
    warprsa_message welcome;
    warprsa_shm shm;
    uint32_t ring_offset, messages_offset; /* of its next ones */
} raw_client;

/* Connects to the daemon at `path`, and waits for WELCOME. False: there is no
 * room now, also not for another control connection until those that have ended
 * are closed. */
bool raw_client_connect(raw_client *x, const char *path, uint32_t slots);

/* The same, with or without uses of keys of the vault. */
bool raw_client_connect_for(raw_client *x, const char *path, uint32_t slots,
                            bool uses);
void raw_client_leave(raw_client *x);

/* Has the daemon read both the ring and the messages. */
void raw_client_notify(const raw_client *x);

/* Sends a message through the shared memory, and notifies. */
void raw_client_send(raw_client *x, const warprsa_shm_message *message);

/* Sends ATTACHED. */
void raw_client_attach(const raw_client *x);

/* Asks for a notifier, and receives it. */
int raw_client_notifier(raw_client *x, uint32_t number);

/* Fills in a request with the key of that number and generation. */
void raw_client_fill(const raw_client *x, uint32_t slot, uint32_t generation,
                     uint32_t key, uint32_t key_generation);

/* Puts a number into the ring; submit() also notifies. */
void raw_client_put(raw_client *x, uint32_t slot);
void raw_client_submit(raw_client *x, uint32_t slot);

/* Waits for the answer to a request that was submitted. */
warprsa_answer raw_client_answer(const raw_client *x, uint32_t slot,
                                 uint32_t generation);

/* Waits until the daemon has ended the connection. */
void raw_client_is_disconnected(const raw_client *x);

#endif
