/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of several places a thread uses, where all do the same to any of them
 * and would wait for one another's cache line if there were only one.
 */
#ifndef WARPRSA_BATCHING_BASE_THREAD_SHARD_H
#define WARPRSA_BATCHING_BASE_THREAD_SHARD_H

enum {
    WARPRSA_THREAD_SHARDS = 64,
};

/* Below WARPRSA_THREAD_SHARDS, and always the same for a thread. Threads get them in
 * turn: two have the same only if there are more threads than places. */
unsigned warprsa_thread_shard(void);

#endif
