/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon as a service of systemd: sockets that systemd passes
 * (sd_listen_fds(3)) or that the daemon makes itself, and reports on its state
 * (sd_notify(3)). Both protocols are a few lines; libsystemd would bring a
 * dozen libraries with it. Everything here comes from systemd or the
 * administrator, nothing from a client.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_SYSTEMD_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>

/* Fills in the listening sockets that systemd passed, and removes them from the
 * environment. Returns how many, or -1 with the reason in why if one of them is
 * no listening Unix socket of type SOCK_SEQPACKET. */
int warprsa_systemd_passed(int *fds, unsigned max, char *why, size_t why_size);

/*
 * Returns a listening socket at `path`, of mode 0660, and of the group `group`
 * if that isn't empty. A socket that a dead daemon has left there is replaced;
 * any other file there is an error and stays. -1 with the reason in why.
 */
int warprsa_systemd_listen(const char *path, const char *group, char *why,
                           size_t why_size);

/* Removes the socket at `path` that listen() made. If another kind of file is
 * there now, it stays. */
void warprsa_systemd_unlisten(const char *path);

/* Sends lines as sd_notify(3) does, if systemd wants any, but never waits.
 * False: they were not sent, as while systemd has too many to read. */
bool warprsa_systemd_notify(const char *lines);

/* After how many milliseconds to send the next WATCHDOG=1, half of what systemd
 * allows; 0: it wants none. */
unsigned warprsa_systemd_watchdog_ms(void);

#endif
