/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * For warprsad, which has no network; see network.h.
 */
#include "batching/daemon/server/network.h"

const warprsa_network *warprsa_network_get(void)
{
    return NULL;
}
