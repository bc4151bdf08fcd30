/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of the daemon share: its server on the fake engine, clients as
 * the provider has them, and clients that send what they like. Whatever has to
 * succeed here and does not, fails the test.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_DAEMON_SUPPORT_H
#define WARPRSA_TESTS_UNIT_SUPPORT_DAEMON_SUPPORT_H

#include "tests/unit/support/fake_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "batching/daemon/client/client.h"
#include "batching/daemon/server/server.h"
#include "tests/unit/support/fake_vault.h"
#include "tests/unit/support/raw_client.h"

/* The functions of a client. */
extern const warprsa_backend_ops *const backend;

/* ---- The server ---- */

typedef struct test_server {
    warprsa_queue_config queue_config;
    warprsa_queue *queue;
    warprsa_server_config config;
    warprsa_server *server;
    char directory[32], path[64]; /* of the socket */
    pthread_mutex_t lock;
    unsigned broken;     /* lines of the log about a broken protocol */
    char lines[64][256]; /* the last ones of the log */
    unsigned logged;     /* lines, ever */
    const char *wanted;  /* NULL, or in lines that are counted */
    unsigned found;      /* such lines */
    unsigned left_out;   /* lines about anybody, as the log says */
} test_server;

/* Opens a queue and starts a server with `slots` for each client, on a socket
 * in a directory of its own. The queue's deadline is deadline_ms. */
void test_server_open(test_server *s, unsigned slots, unsigned deadline_ms);

/* The same in two steps: makes the directory; opens the queue and the server,
 * perhaps in another process. remove() removes the directory. */
void test_server_place(test_server *s);
void test_server_open_there(test_server *s, unsigned slots,
                            unsigned deadline_ms);
void test_server_remove(const test_server *s);

/* Stops the server and closes the queue. All keys must have gone. */
void test_server_close(test_server *s);

/* Stops the server alone, and starts another one on the same socket. */
void test_server_stop(test_server *s);
void test_server_start(test_server *s);

/* How many lines have been logged; how many of them say that a client broke the
 * protocol; whether one of the last has this in it. */
unsigned test_server_log_length(test_server *s);
unsigned test_server_broken(test_server *s);
bool test_server_logged(test_server *s, const char *what);

/* Counts lines with this in them from now on. How many there were so far, with
 * those that were left out, about whomever. */
void test_server_count(test_server *s, const char *wanted);
unsigned test_server_counted(test_server *s);

/* ---- A client as the provider has it ---- */

typedef struct test_client {
    warprsa_control_connection control_connection;
    warprsa_counters *counters;
    warprsa_client *client;
} test_client;

/* Opens a client; it is connected once it is ready. */
void test_client_open(test_client *g, const test_server *s,
                      unsigned deadline_ms);
void test_client_close(test_client *g);

/* Waits for a moment. */
bool test_client_is_ready(test_client *g);

/* A key of this size; different seeds, different keys. */
warprsa_backend_key *test_client_key(test_client *g, warprsa_size_class size,
                                     unsigned seed);

/* As fake_fill(), with an input below any modulus. */
void test_client_fill(fake_request *request, warprsa_size_class size,
                      unsigned key_seed, unsigned seed);

/* submit() and wait() of the backend. */
warprsa_answer test_client_submit(test_client *g, warprsa_backend_key *key,
                                  fake_request *request, uint32_t notifier);
warprsa_answer test_client_wait(test_client *g, fake_request *request);

/* One operation, whose result must be right. A client gives up a daemon that
 * finds no CPU for some 40 ms: then it is tried again. */
void test_client_operate(test_client *g, warprsa_backend_key *key,
                         warprsa_size_class size, unsigned key_seed,
                         unsigned seed);

/* ---- A client that sends and shares what it likes (raw_client.h) ---- */

/* Sends a key of 1024 bits; different seeds, different keys. */
void raw_client_key(raw_client *x, uint32_t number, uint32_t generation,
                    unsigned seed);

#endif
