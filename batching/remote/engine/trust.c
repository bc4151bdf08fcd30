/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which hosts are believed; see trust.h.
 */
#include "batching/remote/engine/trust.h"

#include "batching/remote/engine/hosts.h"

bool warprsa_trust_open(warprsa_trust *trust, const warprsa_tls_files *files,
                        char *why, size_t why_size)
{
    *trust = (warprsa_trust){.files = files,
                             .reloads = warprsa_remote_hosts_reloads()};
    return warprsa_tls_open(&trust->tls, false, files, why, why_size);
}

bool warprsa_trust_holds(warprsa_trust *trust, SSL *ssl, warprsa_trace_fn log,
                         void *log_arg, char why[WARPRSA_TLS_WHY])
{
    const unsigned reloads = warprsa_remote_hosts_reloads();

    if (reloads != trust->reloads) {
        trust->reloads = reloads;
        if (!warprsa_tls_reload(&trust->tls, trust->files, why,
                                WARPRSA_TLS_WHY) &&
            log != NULL)
            log(log_arg, 0, why);
        why[0] = '\0';
    }
    return warprsa_tls_still_valid(&trust->tls, ssl, &trust->checked, why);
}

void warprsa_trust_close(warprsa_trust *trust)
{
    if (trust->tls.libctx != NULL)
        warprsa_tls_close(&trust->tls);
    trust->tls.libctx = NULL;
}
