/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor: keeps one serving process running. Under CUDA a process that
 * has lost its GPU can't open it again, and a driver that hangs takes the
 * process with it. A new process can use the GPU at once. So the daemon's main
 * process only holds the listening sockets, forks the process that does all the
 * work, and forks another one when that ends or hangs. Clients that connect
 * meanwhile wait in the sockets' backlog.
 *
 * The supervisor has one thread, opens no device, uses no libcrypto and reads
 * nothing of a client. From the serving process it takes reports of a fixed
 * size. Files that the serving process may not open are read by one more
 * process (reader_process.h).
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_SUPERVISOR_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/engine.h"

enum {
    WARPRSA_REPORT_TEXT = 896,  /* the devices, and a mistake of a reload */
    WARPRSA_NEWS_BYTES = 4096,  /* room for what comes with a SIGHUP */
    WARPRSA_LISTENERS_MAX = 16, /* of a daemon */
};

/* A report of a serving process. */
typedef struct warprsa_report {
    enum warprsa_report_kind {
        WARPRSA_REPORT_ALIVE,     /* to be sent every second, or oftener */
        WARPRSA_REPORT_READY,     /* it serves; `text` says with what */
        WARPRSA_REPORT_RELOADING, /* it reads its options; READY follows */
    } kind;
    char text[WARPRSA_REPORT_TEXT]; /* ends with a zero */
} warprsa_report;

typedef struct warprsa_supervisor_config {
    /* Runs in a new process, which ends with the returned status. It sends
     * reports through the socket `reports`. From the socket `readings` it
     * receives what read() sends; -1: there is no read(). SIGTERM, SIGINT and
     * SIGHUP are blocked, and this function has to take them; all other signals
     * are as they were. */
    int (*serve)(void *arg, int reports, int readings);
    /* Runs in a process of its own (reader_process.h) for each new serving
     * process, and again with each SIGHUP. NULL: there is nothing to read. */
    int (*read)(void *arg, int socket);
    /* SIGHUP: runs in the supervisor, before the serving process gets it.
     * Writes what that gets with it, by warprsa_supervisor_news(), and returns
     * how many bytes these are; 0: nothing. */
    size_t (*reload)(void *arg, void *news, size_t size);
    void *arg;
    const int *listeners; /* listening, non-blocking */
    unsigned listeners_count;
    unsigned hang_ms; /* without a report for so long, it is killed; >= 1000 */
    warprsa_trace_fn log; /* level 0: errors */
    void *log_arg;
} warprsa_supervisor_config;

/*
 * Runs serving processes until SIGTERM or SIGINT, which the last one gets, too.
 * Returns the exit status for the daemon: that of the last serving process, or
 * EXIT_FAILURE if a signal killed it.
 *
 * Another one is started when one ends: at once, or after a pause if they end
 * again and again (restarts.h). During a pause whoever connects is turned
 * away. If a serving process ends before one has ever been ready, the daemon
 * ends. A serving process never outlives the supervisor, even if the supervisor
 * is killed. systemd gets reports (systemd.h). To be called once, by a process
 * of one thread.
 */
int warprsa_supervise(const warprsa_supervisor_config *config);

/* For the serving process: sends a report; `text` is cut to what fits. Any
 * thread. */
void warprsa_supervisor_report(int reports, enum warprsa_report_kind kind,
                               const char *text);

/* For the serving process that has caught SIGHUP: takes the last news that have
 * come, of this size. False: none have. One thread. */
bool warprsa_supervisor_news(int reports, void *news, size_t size);

#endif
