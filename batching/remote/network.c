/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For warprsad-remote, which has the network; see daemon/network.h.
 */
#include "batching/daemon/network.h"

#include "batching/daemon/options.h"
#include "batching/remote/engine.h"
#include "batching/remote/hosts.h"
#include "batching/remote/server.h"

enum {
    /* As many operations as fill the wait for a far host: 4096 in flight, in
     * messages of 256. */
    STREAMS = 8,
    BATCH_MAX = 512,
};

static bool engine(const warprsa_options *o, warprsa_queue_engine *to,
                   char *why, size_t why_size)
{
    const warprsa_remote_engine_config config = {
        .tls = {o->tls_certificate, o->tls_key,
                o->tls_hosts_ca[0] != '\0' ? o->tls_hosts_ca : o->tls_ca,
                o->tls_crl},
        .verify = o->verify_remote,
    };

    *to = (warprsa_queue_engine){
        .devices = UINT32_MAX, .streams = STREAMS, .batch_max = BATCH_MAX};
    if (o->remote_hosts[0] == '\0')
        return true;
    to->engine = warprsa_engine_remote(&config);
    return warprsa_remote_hosts_set(o->remote_hosts, why, why_size);
}

static void *start(const warprsa_network_config *config, char *why,
                   size_t why_size)
{
    const warprsa_options *o = config->options;
    const warprsa_remote_server_config server = {
        .listen = o->listen,
        .tls = {o->tls_certificate, o->tls_key, o->tls_ca, o->tls_crl},
        .identities = o->identities,
        .threads = o->network_threads,
        .connections = o->network_connections,
        .deadline_ms = o->deadline_ms,
        .queue = config->queue,
        .key_id = config->key_id,
        .log = config->log,
        .log_arg = config->log_arg,
    };

    return warprsa_remote_server_start(&server, why, why_size);
}

static bool reload(void *server, char *why, size_t why_size)
{
    return warprsa_remote_server_reload(server, why, why_size);
}

static void stop(void *server)
{
    warprsa_remote_server_stop(server);
}

const warprsa_network *warprsa_network_get(void)
{
    static const warprsa_network network = {
        .engine = engine,
        .check_hosts = warprsa_remote_hosts_check,
        .set_hosts = warprsa_remote_hosts_set,
        .start = start,
        .reload = reload,
        .stop = stop,
    };

    return &network;
}
