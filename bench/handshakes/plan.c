/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The options of the handshake generator.
 */
#include "bench/handshakes/plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/ssl.h>

static const char usage[] =
    "usage: handshakes --connect=IPv4:PORT [OPTION]...\n"
    "Full TLS handshakes with a server, many at once, none resumed.\n"
    "  --clients=N     connections at once, 1 to 65536 (100)\n"
    "  --processes=N   1 to 256 (1)\n"
    "  --count=N       handshakes in all, else\n"
    "  --seconds=S     how long to measure (10)\n"
    "  --warmup=S      before that (0)\n"
    "  --rate=R        handshakes begun per second, whether earlier ones are\n"
    "                  done or not; latency counts from when each was due\n"
    "  --timeout=S     for one connection (60)\n"
    "  --tls=1.2|1.3   (1.3)\n"
    "  --cipher=LIST   of TLS 1.2\n"
    "  --names=A,B,... server names asked for, in turns (localhost)\n"
    "  --ca=FILE       certificates, and names, must verify with these\n"
    "  --request       ask for / by HTTP/1.0 and want status 200\n"
    "  --abort=MS      close each connection up to MS ms after the "
    "ClientHello\n"
    "Prints one line: handshakes (measured), failed (TLS or HTTP errors, time\n"
    "out), reset (lost connections), aborted, seconds, rate, percentiles of\n"
    "the time from connecting to the end of the handshake, completed (those\n"
    "before and after the measured time, too), and this program's own "
    "processor\n"
    "time. Exit status 1 if any failed or were reset.\n";

static bool complain(const char *option, const char *value,
                     const char *expected)
{
    fprintf(stderr, "handshakes: --%s=%s: expected %s\n", option, value,
            expected);
    return false;
}

static bool number(const char *option, const char *text, double least,
                   double most, double *value)
{
    char expected[80], *end = NULL;

    errno = 0;
    *value = strtod(text, &end);
    if (errno == 0 && end != text && *end == '\0' && isfinite(*value) &&
        *value >= least && *value <= most)
        return true;
    snprintf(expected, sizeof(expected), "a number from %g to %g", least, most);
    return complain(option, text, expected);
}

static bool whole(const char *option, const char *text, unsigned least,
                  unsigned most, unsigned *value)
{
    double parsed = 0;

    if (!number(option, text, least, most, &parsed))
        return false;
    *value = (unsigned)parsed;
    return true;
}

static bool server(const char *text, struct sockaddr_in *address)
{
    char host[INET_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    unsigned port = 0;

    memset(address, 0, sizeof(*address));
    address->sin_family = AF_INET;
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
        return complain("connect", text, "an IPv4 address, a colon, a port");
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    if (inet_pton(AF_INET, host, &address->sin_addr) != 1)
        return complain("connect", text, "an IPv4 address, a colon, a port");
    if (!whole("connect", colon + 1, 1, 65535, &port))
        return false;
    address->sin_port = htons((uint16_t)port);
    return true;
}

static bool names(char *text, plan *plan)
{
    static const char expected[] = "at most 64 names of up to 255 letters";
    char *rest = NULL;

    plan->names_count = 0;
    for (char *name = strtok_r(text, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        if (plan->names_count == PLAN_NAMES_MAX || strlen(name) > 255)
            return complain("names", name, expected);
        plan->names[plan->names_count++] = name;
    }
    return plan->names_count > 0 || complain("names", text, expected);
}

static bool version(const char *text, int *version)
{
    *version = strcmp(text, "1.3") == 0   ? TLS1_3_VERSION
               : strcmp(text, "1.2") == 0 ? TLS1_2_VERSION
                                          : 0;
    return *version != 0 || complain("tls", text, "1.2 or 1.3");
}

static bool option(plan *plan, const char *name, char *value)
{
    double parsed = 0;
    bool ok = false;

    if (strcmp(name, "connect") == 0)
        return server(value, &plan->server);
    if (strcmp(name, "clients") == 0)
        return whole(name, value, 1, 65536, &plan->clients);
    if (strcmp(name, "processes") == 0)
        return whole(name, value, 1, 256, &plan->processes);
    if (strcmp(name, "count") == 0) {
        ok = number(name, value, 1, 1e12, &parsed);
        plan->count = (uint64_t)parsed;
        return ok;
    }
    if (strcmp(name, "seconds") == 0)
        return number(name, value, 0.1, 1e6, &plan->seconds);
    if (strcmp(name, "warmup") == 0)
        return number(name, value, 0, 1e6, &plan->warmup);
    if (strcmp(name, "rate") == 0)
        return number(name, value, 0.1, 1e7, &plan->rate);
    if (strcmp(name, "timeout") == 0)
        return number(name, value, 0.1, 1e6, &plan->timeout);
    if (strcmp(name, "tls") == 0)
        return version(value, &plan->version);
    if (strcmp(name, "names") == 0)
        return names(value, plan);
    if (strcmp(name, "abort") == 0) {
        plan->aborts = true;
        return whole(name, value, 0, 60000, &plan->abort_ms);
    }
    if (strcmp(name, "request") == 0)
        plan->request = true;
    else if (strcmp(name, "cipher") == 0)
        plan->cipher = value;
    else
        plan->ca = value;
    return true;
}

bool plan_parse(plan *plan, int argc, char **argv)
{
    static const struct option options[] = {
        {"connect", required_argument, NULL, 0},
        {"clients", required_argument, NULL, 0},
        {"processes", required_argument, NULL, 0},
        {"count", required_argument, NULL, 0},
        {"seconds", required_argument, NULL, 0},
        {"warmup", required_argument, NULL, 0},
        {"rate", required_argument, NULL, 0},
        {"timeout", required_argument, NULL, 0},
        {"tls", required_argument, NULL, 0},
        {"cipher", required_argument, NULL, 0},
        {"names", required_argument, NULL, 0},
        {"ca", required_argument, NULL, 0},
        {"request", no_argument, NULL, 0},
        {"abort", required_argument, NULL, 0},
        {NULL, 0, NULL, 0},
    };
    int which = 0;
    int got = 0;

    *plan = (struct plan){.names = {"localhost"},
                          .names_count = 1,
                          .version = TLS1_3_VERSION,
                          .clients = 100,
                          .processes = 1,
                          .seconds = 10,
                          .timeout = 60};
    while ((got = getopt_long(argc, argv, "", options, &which)) == 0)
        if (!option(plan, options[which].name, optarg))
            return false;
    if (got != -1 || optind != argc || plan->server.sin_port == 0) {
        fputs(usage, stderr);
        return false;
    }
    if (plan->processes > plan->clients)
        plan->processes = plan->clients;
    return true;
}
