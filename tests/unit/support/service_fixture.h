/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The set-up of tests of the daemon's server and of its client in the provider:
 * one server and one client, with a key of RSA-1024.
 */
#ifndef WARPRSA_TESTS_UNIT_SUPPORT_SERVICE_FIXTURE_H
#define WARPRSA_TESTS_UNIT_SUPPORT_SERVICE_FIXTURE_H

#include "tests/unit/support/daemon_support.h"

static test_server s;
static test_client g;             /* of the server's */
static warprsa_backend_key *key1; /* the client's: RSA-1024, of seed 1 */

/* What a test begins with. */
typedef struct beginning {
    unsigned slots, server_ms, client_ms;
} beginning;

/* A server. */
static inline int begin(void **state)
{
    const beginning *with = *state;

    fake_reset();
    if (with == NULL)
        test_server_open(&s, 64, LONG_MS);
    else
        test_server_open(&s, with->slots, with->server_ms);
    return 0;
}

static inline int end(void **state)
{
    test_server_close(&s);
    return 0;
}

/* A client of it that is not connected yet. */
static inline void open_client(unsigned client_ms)
{
    test_client_open(&g, &s, client_ms);
    key1 = test_client_key(&g, WARPRSA_CLASS_1024, 1);
}

/* A server and a client that is connected. */
static inline int begin_both(void **state)
{
    const beginning *with = *state;

    begin(state);
    open_client(with == NULL ? LONG_MS : with->client_ms);
    WAIT_UNTIL(test_client_is_ready(&g));
    return 0;
}

static inline int end_both(void **state)
{
    FAKE_SET(hold, false); /* a test may have failed meanwhile */
    backend->key_release(key1);
    test_client_close(&g);
    test_server_close(&s);
    return 0;
}

static inline uint64_t reason(warprsa_cpu_reason reason)
{
    return g.counters->cpu_reason[reason];
}

#endif
