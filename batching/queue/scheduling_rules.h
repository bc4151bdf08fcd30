/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rules by which devices take requests, as functions of facts and a time:
 * how many requests a device takes, whether it had better wait for more, and
 * whether it leaves them to another one. They hold no lock and read no clock.
 * scheduling.c knows the facts. Inline, since every request asks some of them.
 */
#ifndef WARPRSA_BATCHING_QUEUE_SCHEDULING_RULES_H
#define WARPRSA_BATCHING_QUEUE_SCHEDULING_RULES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    /* Fewer requests than this for each of several devices are better done by
     * one: a GPU takes no longer for them. */
    WARPRSA_RULE_SHARE_LEAST = 512,
    /* A device that computes so many times its granularity has no need of a
     * batch that is not a multiple of it. */
    WARPRSA_RULE_PLENTY = 16,
    /* A device that computes fewer than so many times its granularity takes
     * whatever there is. */
    WARPRSA_RULE_WAITS = 2,
    /* The whole of a batch's time; and the part of it from which on CPUs for
     * which threads wait are taken to be contended. */
    WARPRSA_RULE_WHOLE = 65536,
    WARPRSA_RULE_CONTENDED = WARPRSA_RULE_WHOLE / 8,
};

/* The part of a batch's time, of WARPRSA_RULE_WHOLE, in which its thread waited
 * for a CPU, averaged over batches: `average` before a batch that took cpu_ns
 * of CPU time and elapsed_ns by the clock. */
static inline uint32_t warprsa_rule_waits_for_cpu(uint32_t average,
                                                  uint64_t cpu_ns,
                                                  uint64_t elapsed_ns)
{
    uint32_t now = 0;

    if (cpu_ns < elapsed_ns)
        now =
            (uint32_t)((elapsed_ns - cpu_ns) * WARPRSA_RULE_WHOLE / elapsed_ns);
    /* Both are at most WHOLE: the sum does not overflow. */
    return (7 * average + now) / 8;
}

/* Whether a device computes so much that a batch can wait until it is a
 * multiple of the granularity. Its end is not far: something is under way. */
static inline bool warprsa_rule_has_plenty(unsigned granularity,
                                           uint32_t running)
{
    return granularity > 1 && running >= WARPRSA_RULE_PLENTY * granularity;
}

/* What there is to do of a class: `queued` requests, and `running` that the
 * device computes, of `keys` keys; of `often` of these it computes several. */
typedef struct warprsa_rule_load {
    uint32_t queued, running, keys, often;
} warprsa_rule_load;

/* What batches of a class had better be like. */
typedef struct warprsa_rule_batch {
    uint8_t under_way; /* so many of them at once */
    uint8_t of_a_key;  /* requests of each key in one */
} warprsa_rule_batch;

/* The longer an operation takes, the fewer batches are best under way at once,
 * since a batch then gains more from being large than from the pause that the
 * next one fills. It also gains more from lanes that are all filled, of which
 * narrow_fold has eight for a key. Measured: doc/log/2026-11-28-crowd.md. */
static inline warprsa_rule_batch warprsa_rule_batch_of(unsigned size)
{
    static const warprsa_rule_batch best[] = {{24, 5}, {24, 5}, {8, 8}};

    return size < sizeof(best) / sizeof(best[0])
               ? best[size] /* up to RSA-3072 */
               : (warprsa_rule_batch){4, 8};
}

/* So many requests must be queued before a device takes any, if `best` is what
 * its batches had better be like; 0: one is enough. A kernel computes several
 * requests of a key in little more time than one. So a batch had better have
 * several of each key, if most keys have several under way: what is queued has
 * about as many keys as that. Where a few keys have most requests and many have
 * one each, waiting would fill no more lanes. Never more than what is under
 * way: of two batches one then runs while the other gathers. If nothing more
 * comes, what is queued goes at last when less than two groups are under way.
 */
static inline uint32_t warprsa_rule_enough(unsigned granularity,
                                           warprsa_rule_batch best,
                                           warprsa_rule_load load)
{
    uint32_t enough = (load.queued + load.running) / best.under_way;

    if (granularity <= 1 || load.running < WARPRSA_RULE_WAITS * granularity)
        return 0;
    if (load.often > load.keys / 2 && enough < best.of_a_key * load.keys)
        enough = best.of_a_key * load.keys;
    if (warprsa_rule_has_plenty(granularity, load.running) &&
        enough < granularity)
        enough = granularity;
    return enough < load.running ? enough : load.running;
}

/* The first classes, a bit each, of which enough is queued. Each class is
 * looked at by itself: batches of another one, which may be long, delay none of
 * its requests while little of it is under way. */
static inline uint32_t warprsa_rule_classes(unsigned granularity,
                                            const warprsa_rule_load *loads,
                                            unsigned classes)
{
    uint32_t enough = 0;

    for (unsigned c = 0; c < classes; c++)
        if (loads[c].queued >= warprsa_rule_enough(granularity,
                                                   warprsa_rule_batch_of(c),
                                                   loads[c]))
            enough |= UINT32_C(1) << c;
    return enough;
}

/* The requests that a batch should have of those that wait, `most` at most:
 * without those that are less than the granularity, if the device has plenty,
 * and they can wait. */
static inline uint32_t warprsa_rule_whole_groups(bool has_plenty,
                                                 unsigned granularity,
                                                 uint32_t waiting,
                                                 uint32_t most)
{
    if (!has_plenty || waiting < granularity || waiting >= most)
        return most;
    return waiting - waiting % granularity;
}

/* The requests that one of so many devices with nothing else to do should take
 * of those that wait. */
static inline uint32_t warprsa_rule_share(uint32_t devices, uint32_t waiting,
                                          uint32_t most)
{
    uint32_t share = waiting / devices + 1;

    if (share < WARPRSA_RULE_SHARE_LEAST)
        share = WARPRSA_RULE_SHARE_LEAST;
    return share < most ? share : most;
}

/* A device, as one that pauses sees it: `classes` is how many size classes it
 * takes; 0: it takes no requests, or is one of the CPUs. */
typedef struct warprsa_rule_other {
    unsigned classes;
    uint64_t paused_until_ns;
} warprsa_rule_other;

/* Whether a device that pauses leaves requests of so many classes to another
 * one of `others`, which takes all of them and does not pause. */
static inline bool warprsa_rule_stands_aside(unsigned classes,
                                             const warprsa_rule_other *others,
                                             unsigned count, uint64_t now_ns)
{
    for (unsigned i = 0; i < count; i++)
        if (others[i].classes != 0 && others[i].classes >= classes &&
            now_ns >= others[i].paused_until_ns)
            return true;
    return false;
}

#endif
