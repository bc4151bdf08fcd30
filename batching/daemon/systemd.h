/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The daemon as a service: sockets that systemd passes (sd_listen_fds(3)) or
 * that it makes itself, and telling systemd how it is (sd_notify(3)). Both
 * protocols are a few lines; libsystemd would come with a dozen libraries.
 */
#ifndef WARPRSA_BATCHING_DAEMON_SYSTEMD_H
#define WARPRSA_BATCHING_DAEMON_SYSTEMD_H

#include <stdbool.h>
#include <stddef.h>

/* The listening sockets that systemd passed, which are taken off the
 * environment: how many, 0 if it passed none, -1 with the reason in why if they
 * are of no use. */
int warprsa_systemd_passed(int *fds, unsigned max, char *why, size_t why_size);

/*
 * A listening socket at `path`, mode 0660, of the group `group` if that isn't
 * empty. One that a dead daemon has left there is replaced. -1 with the reason
 * in why.
 */
int warprsa_systemd_listen(const char *path, const char *group, char *why,
                           size_t why_size);

/* Sends lines of sd_notify(3), if systemd wants any. */
void warprsa_systemd_notify(const char *lines);

/* How often systemd wants to hear WATCHDOG=1, in milliseconds; 0: never. */
unsigned warprsa_systemd_watchdog_ms(void);

#endif
