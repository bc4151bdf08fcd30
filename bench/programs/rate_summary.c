/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Picks the fastest kernel of each size of RSA from the rows of kernel_rate's
 * table and compares it with the project's goals.
 */
#include "bench/programs/rate_summary.h"

/* What the project wants and hopes for: ratios to the baseline, and
 * milliseconds of a single request. 0: there is no goal. */
typedef struct goal {
    int bits;
    double many, many_hoped;
    double one, one_hoped;
    double single_ms, single_ms_hoped;
} goal;

static const goal goals[] = {
    {2048, 1.2, 1.35, 1.7, 2.1, 1.8, 1.2},
    {3072, 1.3, 1.5, 1.7, 2.2, 0, 0},
    {4096, 1.3, 1.5, 1.7, 2.2, 0, 6},
};

static const goal *goal_of(int bits)
{
    static const goal none = {0};

    for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); i++)
        if (goals[i].bits == bits)
            return &goals[i];
    return &none;
}

typedef enum subject {
    MANY_KEYS,
    ONE_KEY,
    SINGLE
} subject;

/* Whether a row belongs to the subject. Rows of the paper's kernel and of
 * direct table reads belong to none. */
static bool is_about(const rate_row *r, subject subject)
{
    if (r->direct || r->whole_ms.median <= 0)
        return false;
    if (subject == SINGLE)
        return r->batch == 1;
    return (subject == ONE_KEY) == (r->keys == 1);
}

static const rate_row *best_of(const rate_row *rows, size_t count,
                               subject subject)
{
    const rate_row *best = NULL;

    for (size_t i = 0; i < count; i++)
        if (is_about(&rows[i], subject) &&
            (best == NULL || rate_of(&rows[i]) > rate_of(best)))
            best = &rows[i];
    return best;
}

static void add_line(rate_summary *summary, const char *line)
{
    if (summary->count < RATE_SUMMARY_LINES * RATE_SIZES)
        snprintf(summary->line[summary->count++], sizeof(summary->line[0]),
                 "%s", line);
}

static void add_rate(rate_summary *summary, const rate_size *s,
                     const rate_row *r, const char *what, double wanted,
                     double hoped)
{
    char line[128], goal[48] = "";
    double ratio;

    if (r == NULL)
        return;
    ratio = rate_of(r) / s->baseline.median;
    if (wanted > 0)
        snprintf(goal, sizeof(goal), "  wanted %.2f, hoped for %.2f: %s",
                 wanted, hoped, ratio >= wanted ? "there" : "not there");
    snprintf(line, sizeof(line), "RSA-%d %-9s %-8s %6zu %9.0f/s %5.2f%s",
             2 * s->shape->bits, what, r->name, r->batch, rate_of(r), ratio,
             goal);
    add_line(summary, line);
}

static void add_single(rate_summary *summary, const rate_size *s,
                       const rate_row *r, const goal *goal)
{
    char line[128], wanted[24] = "", hoped[24] = "";

    if (r == NULL)
        return;
    if (goal->single_ms > 0)
        snprintf(wanted, sizeof(wanted), "  wanted %.1f", goal->single_ms);
    if (goal->single_ms_hoped > 0)
        snprintf(hoped, sizeof(hoped), "  hoped for %.1f",
                 goal->single_ms_hoped);
    snprintf(line, sizeof(line), "RSA-%d %-9s %-8s %6zu %9.3f ms%s%s",
             2 * s->shape->bits, "alone", r->name, r->batch,
             r->kernel_ms.median, wanted, hoped);
    add_line(summary, line);
}

void rate_summary_add(rate_summary *summary, const rate_size *s,
                      const rate_row *rows, size_t count)
{
    const goal *goal = goal_of(2 * s->shape->bits);
    char line[128];

    snprintf(line, sizeof(line), "RSA-%d %-9s %-8s %6s %9.0f/s  1.00",
             2 * s->shape->bits, "baseline", "paper", "", s->baseline.median);
    add_line(summary, line);
    add_rate(summary, s, best_of(rows, count, MANY_KEYS), "many keys",
             goal->many, goal->many_hoped);
    add_rate(summary, s, best_of(rows, count, ONE_KEY), "one key", goal->one,
             goal->one_hoped);
    add_single(summary, s, best_of(rows, count, SINGLE), goal);
}

void rate_summary_print(const rate_summary *summary)
{
    puts("\nThe fastest of each, beside half the rate of powers of the paper's "
         "kernel:");
    for (size_t i = 0; i < summary->count; i++)
        puts(summary->line[i]);
}
