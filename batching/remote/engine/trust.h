/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which hosts a client of the network believes: its own certificate and the
 * authorities, read from files, and again at each reload of the daemon. One for
 * each connection.
 */
#ifndef WARPRSA_BATCHING_REMOTE_ENGINE_TRUST_H
#define WARPRSA_BATCHING_REMOTE_ENGINE_TRUST_H

#include "batching/remote/wire/tls.h"
#include "gpu/engine.h"

/* The fields are the module's own, but for `tls`. */
typedef struct warprsa_trust {
    warprsa_tls tls;
    const warprsa_tls_files *files;
    unsigned reloads, checked;
} warprsa_trust;

/* Reads the files, which must live on. False: `why` says which is wrong. */
bool warprsa_trust_open(warprsa_trust *trust, const warprsa_tls_files *files,
                        char *why, size_t why_size);

/* Whether the host at the other end of a connection is believed now; if not,
 * `why` says why. Files that changed are read at a reload of the daemon
 * (warprsa_remote_hosts_reloads()). If a file has a mistake, the old ones stay
 * and the log says so. The connection's thread. */
bool warprsa_trust_holds(warprsa_trust *trust, SSL *ssl, warprsa_trace_fn log,
                         void *log_arg, char why[WARPRSA_TLS_WHY]);

/* As warprsa_tls_close(). Does nothing to one that open() did not fill. */
void warprsa_trust_close(warprsa_trust *trust);

#endif
