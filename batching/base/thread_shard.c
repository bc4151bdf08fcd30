/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of the threads' shards: see thread_shard.h.
 */
#include "batching/base/thread_shard.h"

#include <stdatomic.h>

unsigned warprsa_thread_shard(void)
{
    static atomic_uint next;
    static _Thread_local unsigned mine; /* plus 1; 0: none yet */

    if (mine == 0)
        mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) %
                   WARPRSA_THREAD_SHARDS +
               1;
    return mine - 1;
}
