/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For warprsad-remote, which has the network; see daemon/server/network.h.
 */
#include "batching/daemon/server/network.h"

#include "batching/daemon/server/options.h"
#include "batching/remote/engine/hosts.h"
#include "batching/remote/engine/remote_engine.h"
#include "batching/remote/uses/remote_uses.h"

enum {
    /* Enough operations to cover the delay of a far host: 4096 in flight, in
     * messages of 256. */
    STREAMS = 8,
    BATCH_MAX = 512,
};

static warprsa_tls_files files_of(const warprsa_options *o)
{
    return (warprsa_tls_files){o->tls_certificate, o->tls_key, o->tls_ca,
                               o->tls_crl};
}

static bool engine(const warprsa_options *o, warprsa_queue_engine *to,
                   char *why, size_t why_size)
{
    const warprsa_remote_engine_config config = {
        .tls = files_of(o),
        .verify = o->verify_remote,
    };

    *to = (warprsa_queue_engine){
        .devices = UINT32_MAX, .streams = STREAMS, .batch_max = BATCH_MAX};
    if (o->remote_hosts[0] == '\0')
        return true;
    to->engine = warprsa_engine_remote(&config);
    return warprsa_remote_hosts_set(o->remote_hosts, why, why_size);
}

static bool set_hosts(const char *hosts, char *why, size_t why_size)
{
    const bool done = warprsa_remote_hosts_set(hosts, why, why_size);

    warprsa_remote_uses_look();
    return done;
}

static bool start_uses(const warprsa_options *o,
                       const warprsa_network_daemon *daemon)
{
    const warprsa_uses_config config = {
        .daemon = *daemon,
        .tls = files_of(o),
        .verify = o->verify_remote,
    };

    return warprsa_remote_uses_start(&config);
}

const warprsa_network *warprsa_network_get(void)
{
    static const warprsa_network network = {
        .engine = engine,
        .check_hosts = warprsa_remote_hosts_check,
        .set_hosts = set_hosts,
        .start_uses = start_uses,
        .use = warprsa_remote_uses_add,
        .send_uses = warprsa_remote_uses_send,
        .stop_uses = warprsa_remote_uses_stop,
    };

    return &network;
}
