/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Which of several equal copies of something (a shard) a thread uses. It is for
 * data that any thread may use: with one copy, all threads would wait for one
 * cache line.
 */
#ifndef WARPRSA_BATCHING_BASE_THREAD_SHARD_H
#define WARPRSA_BATCHING_BASE_THREAD_SHARD_H

enum {
    WARPRSA_THREAD_SHARDS = 64,
};

/* The calling thread's shard: less than WARPRSA_THREAD_SHARDS, and always the
 * same for a thread. Threads get shards in turn, so two threads share one only
 * if there are more threads than shards. Any thread. */
unsigned warprsa_thread_shard(void);

#endif
