/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * pSHS with threads of a CPU.
 */
#include "bench/programs/papers/pshs/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    WORKERS_MAX = 16,
    LINE = 16, /* words of a cache line: counters get one each */
};

typedef struct start {
    pshs_worker worker;
    pshs_work *work;
    void *arg;
} start;

static void *run(void *arg)
{
    start *s = arg;

    s->work(&s->worker, s->arg);
    return NULL;
}

void pshs_threads(int p, const papers_modexp *m, pshs_work *work, void *arg)
{
    start *starts = papers_memory((size_t)p, sizeof(*starts));
    uint32_t *slots = papers_memory((size_t)p, PSHS_SLOTS * sizeof(*slots));
    uint32_t *counters = papers_memory((size_t)p + 1, LINE * sizeof(*counters));
    pthread_t threads[WORKERS_MAX];

    for (int i = 0; i < p; i++) {
        pshs_link out = {slots + i * PSHS_SLOTS, counters + i * LINE};
        int before = (i + p - 1) % p;
        pshs_link in = {slots + before * PSHS_SLOTS, counters + before * LINE};

        starts[i].worker = (pshs_worker){
            .p = p,
            .q = (int)m->words / p,
            .s = (int)m->words,
            .pid = i,
            .n0inv = m->n0inv,
            .modulus = m->modulus,
            .in = in,
            .out = out,
            .barrier = counters + p * LINE,
        };
        starts[i].work = work;
        starts[i].arg = arg;
    }
    for (int i = 1; i < p; i++)
        if (pthread_create(&threads[i], NULL, run, &starts[i]) != 0)
            papers_fail("no thread");
    run(&starts[0]);
    for (int i = 1; i < p; i++)
        pthread_join(threads[i], NULL);
    free(starts);
    free(slots);
    free(counters);
}

static const uint32_t one[PSHS_WORDS_MAX] = {1};

typedef struct modexp_work {
    uint32_t *values[3];
    pshs_key key;
} modexp_work;

static void work_modexp(pshs_worker *w, void *arg)
{
    const modexp_work *work = arg;

    pshs_modexp(w, work->values, &work->key);
}

void pshs_threads_modexp(int p, const papers_modexp *m, const uint32_t *base,
                         uint32_t *result)
{
    uint32_t memory[3][PSHS_WORDS_MAX];
    modexp_work work = {
        .values = {memory[0], memory[1], memory[2]},
        .key = {m->r2, m->exponent, one, (int)m->exponent_bits},
    };

    memcpy(memory[0], base, m->words * sizeof(*base));
    pshs_threads(p, m, work_modexp, &work);
    memcpy(result, memory[0], m->words * sizeof(*base));
}

/* Algorithm 1 without its final subtraction: t <- x x / R mod N. Its line 12
 * names the sum (c, d), which is (C, S). */
static void sequential(uint32_t *t, const uint32_t *x, const papers_modexp *m)
{
    const size_t s = m->words;
    uint32_t sum[2 * PSHS_WORDS_MAX + 1] = {0};

    for (size_t i = 0; i < 2 * s; i++) {
        const bool reduce = i >= s;
        const size_t at = reduce ? i - s : i;
        const uint32_t *row = reduce ? m->modulus : x;
        const uint32_t y = reduce ? sum[at] * m->n0inv : x[at];
        uint64_t c = 0;

        for (size_t j = 0; j < s; j++) {
            c += (uint64_t)row[j] * y + sum[at + j];
            sum[at + j] = (uint32_t)c;
            c >>= 32;
        }
        for (size_t j = at + s; c != 0; j++) {
            c += sum[j];
            sum[j] = (uint32_t)c;
            c >>= 32;
        }
    }
    memcpy(t, sum + s, s * sizeof(*t));
}

typedef struct squares_work {
    uint32_t *x, *spare;
    int count;
    double seconds;
} squares_work;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The clock starts once all workers are there. */
static void work_squares(pshs_worker *w, void *arg)
{
    squares_work *work = arg;
    uint32_t *from = work->x, *to = work->spare;
    double began;

    pshs_meet(w);
    began = now();
    for (int i = 0; i < work->count; i++) {
        uint32_t *swap = from;

        pshs_product(w, to, (pshs_operand){from, 1}, (pshs_operand){from, 1});
        from = to;
        to = swap;
    }
    if (w->pid == 0) {
        work->seconds = now() - began;
        if (from != work->x)
            memcpy(work->x, from, (size_t)w->s * sizeof(*from));
    }
}

double pshs_threads_squares(int p, const papers_modexp *m, uint32_t *x,
                            int count)
{
    uint32_t spare[PSHS_WORDS_MAX];
    squares_work work = {.x = x, .spare = spare, .count = count};

    if (p > 0) {
        pshs_threads(p, m, work_squares, &work);
        return work.seconds / count;
    }
    const double began = now();
    for (int i = 0; i < count; i++) {
        sequential(spare, x, m);
        memcpy(x, spare, m->words * sizeof(*x));
    }
    return (now() - began) / count;
}
