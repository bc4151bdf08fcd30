/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For warprsad-remote, which has the network; see daemon/server/network.h.
 */
#include "batching/daemon/server/network.h"

#include "batching/daemon/server/options.h"
#include "batching/remote/engine/hosts.h"
#include "batching/remote/engine/remote_engine.h"

enum {
    /* Enough operations to cover the delay of a far host: 4096 in flight, in
     * messages of 256. */
    STREAMS = 8,
    BATCH_MAX = 512,
};

static bool engine(const warprsa_options *o, warprsa_queue_engine *to,
                   char *why, size_t why_size)
{
    const warprsa_remote_engine_config config = {
        .tls = {o->tls_certificate, o->tls_key, o->tls_ca, o->tls_crl},
        .verify = o->verify_remote,
    };

    *to = (warprsa_queue_engine){
        .devices = UINT32_MAX, .streams = STREAMS, .batch_max = BATCH_MAX};
    if (o->remote_hosts[0] == '\0')
        return true;
    to->engine = warprsa_engine_remote(&config);
    return warprsa_remote_hosts_set(o->remote_hosts, why, why_size);
}

const warprsa_network *warprsa_network_get(void)
{
    static const warprsa_network network = {
        .engine = engine,
        .check_hosts = warprsa_remote_hosts_check,
        .set_hosts = warprsa_remote_hosts_set,
    };

    return &network;
}
