/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The plan of the handshake generator: its parsed command line.
 */
#ifndef WARPRSA_TESTS_PLAN_H
#define WARPRSA_TESTS_PLAN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLAN_NAMES_MAX = 64,
};

typedef struct plan {
    struct sockaddr_in server;
    const char *names[PLAN_NAMES_MAX]; /* for SNI, in turns */
    size_t names_count;
    const char *ca;     /* file; NULL: certificates are not verified */
    const char *cipher; /* of TLS 1.2; NULL: libssl's choice */
    int version;        /* TLS1_2_VERSION or TLS1_3_VERSION */
    unsigned clients;   /* connections at once at most */
    unsigned processes; /* at most one per client */
    uint64_t count;     /* handshakes in all; 0: `seconds` is the limit */
    double seconds;     /* how long is measured */
    double warmup;      /* seconds before that */
    double rate;        /* handshakes begun per second; 0: no limit */
    double timeout;     /* seconds for one connection */
    bool request;       /* an HTTP request after each handshake */
    bool aborts;        /* leave in mid-handshake... */
    unsigned abort_ms;  /* ...within so many ms after the ClientHello */
} plan;

/* Parses the command line, into which `names` points afterwards. False: it
 * makes no sense, and stderr says why and what is allowed. */
bool plan_parse(plan *plan, int argc, char **argv);

#endif
