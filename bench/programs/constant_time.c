/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tests whether a kernel's counts of executed instructions or its time depend
 * on secret exponents: constant_time --help.
 *
 * --profile launches a batch and then, in each of --turns turns, one for each
 * kind of exponent and one under other keys, in random order, and nothing else.
 * A profiler counts what each batch executed; the batches' labels are printed
 * in their order. --once launches a single batch, for tools that are slower
 * than a profiler.
 *
 * --timing compares the kernel's time for fixed exponents (zeros, ones, a
 * random one) with that for random ones: Welch's t over batches in random
 * order (welch.h). The time is measured in clocks of the SMs (sm_clocks.h) and
 * in milliseconds, by CUDA events. A GPU's frequency follows the power that it
 * draws, and that follows the bits of the numbers. Of a kernel's time, a part
 * goes with the SMs' clock and the rest (L2 cache, memory) does not, so that a
 * higher frequency means fewer milliseconds and more clocks. A difference in
 * what is done changes both alike. At equal frequency, then, a difference lies
 * between those in clocks and in milliseconds, and a kernel leaks if both are
 * beyond the limit and point the same way.
 *
 * All also take kernels that leak on purpose, "control-direct" and
 * "control-branch": a test that does not find those leaks shows nothing.
 */
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "bench/programs/batch_run.h"
#include "bench/programs/bench.h"
#include "bench/programs/paper_run.h"
#include "bench/programs/sm_clocks.h"
#include "bench/programs/welch.h"
#include "gpu/arith/int32_key.h"

const char bench_name[] = "constant_time";

enum {
    KEYS = 16,
    SAMPLES_MAX = 100000,
    TURNS_MAX = 1000,
    BATCH_MAX = 1 << 20, /* and requests of others */
};

/* The kinds of batches: those of exponents.h and one more. */
enum {
    OTHER_KEYS = EXPONENTS,
    KINDS
};

static const char *const labels[KINDS] = {"zeros", "ones", "fixed", "random",
                                          "other-keys"};

static const char help[] =
    "usage: constant_time --profile|--once|--timing [OPTION...]\n"
    "  --kernel=NAME   one that --list prints (cooperative)\n"
    "  --bits=N        size of RSA (2048)\n"
    "  --batch=N       requests in a batch (512)\n"
    "  --others=N      requests of other batches that the engine is told of, "
    "as\n"
    "                  if it had to share the GPU with them (0)\n"
    "  --samples=N     --timing: batches of each kind (300)\n"
    "  --csv=FILE      the same: write every batch's kind and times\n"
    "  --turns=N       --profile: batches of each kind (1)\n"
    "  --list          print the kernels' names, no GPU needed\n"
    "  --public-offsets  print where the public exponent and lengths are in a\n"
    "                  prepared key, no GPU needed\n"
    "--timing ends with status 1 if exponents of a kind differ from random "
    "ones with\n"
    "|t| of 4.5 or more, in the same direction by clocks and by "
    "milliseconds.\n";

typedef struct control {
    const char *name;
    paper_launcher *launch;
} control;

static const control controls[] = {
    {"control-direct", paper_launch},
    {"control-branch", paper_launch_skipping},
};

enum {
    CONTROLS = sizeof(controls) / sizeof(controls[0]),
};

/* What is tested: one of the engine's kernels, or the paper's as a control. */
typedef struct subject {
    const char *name;
    paper_launcher *control; /* NULL: an engine's kernel */
    size_t bits, batch, others;
    batch_run run;
    key_set keys[2];
    uint32_t fixed[WARPRSA_EXPONENT_WORDS];
    paper_run paper;
} subject;

typedef struct options {
    size_t samples, turns;
    char mode;       /* 'p': --profile, 'O': --once, 't': --timing */
    const char *csv; /* NULL: none */
} options;

static void choose_kernel(subject *s, const char *name)
{
    s->name = NULL;
    s->control = NULL;
    for (size_t i = 0; batch_run_name(i) != NULL; i++)
        if (strcmp(name, batch_run_name(i)) == 0)
            s->name = name;
    for (int i = 0; i < CONTROLS; i++)
        if (strcmp(name, controls[i].name) == 0) {
            s->name = name;
            s->control = controls[i].launch;
        }
    if (s->name == NULL)
        bench_refuse("--kernel", name, "a name that --list prints");
}

static void list_kernels(void)
{
    for (size_t i = 0; batch_run_name(i) != NULL; i++)
        puts(batch_run_name(i));
    for (int i = 0; i < CONTROLS; i++)
        puts(controls[i].name);
    exit(EXIT_SUCCESS);
}

/* Offsets of public lengths in the prepared keys. A kernel's loops may depend
 * on these values: scripts/checks/hot-branches --public. */
static void list_offsets(void)
{
    printf("%#zx,%#zx,%#zx\n", offsetof(warprsa_prepared_key, e),
           offsetof(warprsa_prepared_key, modulus_bytes),
           offsetof(warprsa_int32_key, modulus_bytes));
    exit(EXIT_SUCCESS);
}

static void subject_new(subject *s)
{
    batch_run_new(&s->run, s->control == NULL ? s->batch : 1, KEYS);
    if (s->control != NULL) {
        paper_run_new(&s->paper, paper_shape_of(s->bits), 2 * s->batch);
        return;
    }
    key_set_new(&s->keys[0], s->bits, KEYS);
    key_set_new(&s->keys[1], s->bits, KEYS);
    bench_random(s->fixed, sizeof(s->fixed));
    batch_run_keys(&s->run, &s->keys[0], s->name);
    batch_run_fill(&s->run, s->batch);
    s->run.memory.concurrent = s->others;
    if (!batch_run_takes(&s->run, s->name, s->run.memory.size)) {
        puts("the kernel does not take keys of this size");
        exit(EXIT_SUCCESS);
    }
}

static void subject_free(subject *s)
{
    if (s->control == NULL) {
        key_set_free(&s->keys[0]);
        key_set_free(&s->keys[1]);
    } else {
        paper_run_free(&s->paper);
    }
    batch_run_free(&s->run);
}

/* Everything but the launch. */
static void prepare(subject *s, int kind)
{
    const key_set *keys = &s->keys[kind == OTHER_KEYS];

    if (s->control != NULL) {
        paper_run_exponents(&s->paper, (exponents)kind);
        return;
    }
    if (s->run.keys != keys)
        batch_run_keys(&s->run, keys, s->name);
    if (kind != OTHER_KEYS)
        batch_run_exponents(&s->run, (exponents)kind, s->fixed);
    batch_run_stage(&s->run);
}

/* The kernel's time in milliseconds. */
static double run_kernel(subject *s)
{
    return s->control != NULL
               ? paper_run_kernel(&s->paper, s->control, s->run.stream, NULL)
               : batch_run_kernel(&s->run, s->name, NULL, NULL);
}

static void profile_batch(subject *s, int kind, const char *label)
{
    prepare(s, kind);
    run_kernel(s);
    puts(label);
}

/* Puts the kinds in a random order; all orders are as good as equally
 * likely. */
static void shuffle(int *kinds, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t r;

        bench_random(&r, sizeof(r));
        r %= i;
        const int kind = kinds[r];
        kinds[r] = kinds[i - 1];
        kinds[i - 1] = kind;
    }
}

/* The first batch is in no turn: memory and caches are new to it. */
static int profile(subject *s, size_t turns)
{
    int kinds[KINDS] = {EXPONENTS_ZEROS, EXPONENTS_ONES, EXPONENTS_FIXED,
                        EXPONENTS_RANDOM, OTHER_KEYS};
    const uint32_t count = s->control != NULL ? EXPONENTS : KINDS;

    profile_batch(s, EXPONENTS_RANDOM, "first");
    for (size_t turn = 0; turn < turns; turn++) {
        shuffle(kinds, count);
        for (uint32_t i = 0; i < count; i++)
            profile_batch(s, kinds[i], labels[kinds[i]]);
    }
    return 0;
}

static int once(subject *s)
{
    prepare(s, EXPONENTS_RANDOM);
    run_kernel(s);
    return 0;
}

/* What was measured of `count` batches: each one's kind of exponents,
 * clocks of the SMs (the median of all, the least and the most) and
 * milliseconds. */
typedef struct samples {
    size_t count;
    uint8_t *kind;
    double *clocks, *least, *most, *ms, *scratch;
    unsigned sms, least_sms; /* of the device; of which clocks were read */
} samples;

static void samples_new(samples *m, size_t count)
{
    *m = (samples){.count = count};
    m->kind = calloc(count, sizeof(*m->kind));
    m->clocks = calloc(count, 5 * sizeof(*m->clocks));
    if (m->kind == NULL || m->clocks == NULL)
        bench_fail("no memory");
    m->least = m->clocks + count;
    m->most = m->least + count;
    m->ms = m->most + count;
    m->scratch = m->ms + count;
}

static void samples_free(samples *m)
{
    free(m->kind);
    free(m->clocks);
}

/* Runs batches whose kinds of exponents are random. */
static void measure(subject *s, samples *m)
{
    sm_clocks clocks;

    bench_random(m->kind, m->count);
    sm_clocks_new(&clocks);
    prepare(s, EXPONENTS_RANDOM);
    run_kernel(s);
    sm_clocks_take(&clocks, s->run.stream);
    for (size_t i = 0; i < m->count; i++) {
        uint8_t *kind = &m->kind[i];
        spread of;

        *kind = *kind % EXPONENTS;
        prepare(s, *kind);
        m->ms[i] = run_kernel(s);
        of = sm_clocks_take(&clocks, s->run.stream);
        m->clocks[i] = of.median;
        m->least[i] = of.least;
        m->most[i] = of.most;
    }
    m->sms = clocks.sms;
    m->least_sms = clocks.least;
    sm_clocks_free(&clocks);
}

/* How exponents of a kind differ from random ones. */
typedef struct difference {
    moments of;
    double percent, t;
} difference;

static void compare(difference found[EXPONENTS_RANDOM], const samples *m,
                    const double *times)
{
    moments of[EXPONENTS] = {{0}};
    const moments *random = &of[EXPONENTS_RANDOM];

    moments_of_kinds(of, times, m->kind, m->scratch, m->count);
    for (int i = 0; i < EXPONENTS_RANDOM; i++)
        found[i] = (difference){of[i], 100 * (of[i].mean / random->mean - 1),
                                welch_t(&of[i], random)};
}

static void print_row(const subject *s, int kind, const difference *clocks,
                      const difference *ms, const char *verdict)
{
    printf("%-15s %5zu %6zu %-6s %6.0f %12.0f %+9.5f%% %8.2f %10.5f %+9.5f%% "
           "%8.2f  %s\n",
           s->name, s->bits, s->batch, labels[kind], clocks->of.count,
           clocks->of.mean, clocks->percent, clocks->t, ms->of.mean,
           ms->percent, ms->t, verdict);
}

static int report(const subject *s, const samples *m)
{
    difference clocks[EXPONENTS_RANDOM], ms[EXPONENTS_RANDOM];
    int leaks = 0;

    compare(clocks, m, m->clocks);
    compare(ms, m, m->ms);
    for (int i = 0; i < EXPONENTS_RANDOM; i++) {
        const double c = clocks[i].t, t = ms[i].t;
        const bool equal = welch_passes(c) && welch_passes(t);
        const bool leak =
            !welch_passes(c) && !welch_passes(t) && (c > 0) == (t > 0);

        leaks |= leak;
        print_row(s, i, &clocks[i], &ms[i],
                  leak    ? "DIFFERS"
                  : equal ? "no difference seen"
                          : "frequency explains it");
    }
    if (m->least_sms < m->sms)
        printf("clocks were read of %u to %u SMs\n", m->least_sms, m->sms);
    return leaks;
}

static void write_csv(const samples *m, const char *name)
{
    FILE *csv = fopen(name, "w");

    if (csv == NULL)
        bench_fail(name);
    fputs("kind,clocks,least,most,ms\n", csv);
    for (size_t i = 0; i < m->count; i++)
        fprintf(csv, "%s,%.0f,%.0f,%.0f,%.6f\n", labels[m->kind[i]],
                m->clocks[i], m->least[i], m->most[i], m->ms[i]);
    if (fclose(csv) != 0)
        bench_fail(name);
}

static int timing(subject *s, const options *o)
{
    samples m;
    int leaks;

    samples_new(&m, o->samples * EXPONENTS);
    measure(s, &m);
    leaks = report(s, &m);
    if (o->csv != NULL)
        write_csv(&m, o->csv);
    samples_free(&m);
    return leaks;
}

static void parse(subject *s, options *o, int argc, char **argv)
{
    static const struct option names[] = {
        {"profile", no_argument, NULL, 'p'},
        {"once", no_argument, NULL, 'O'},
        {"timing", no_argument, NULL, 't'},
        {"kernel", required_argument, NULL, 'k'},
        {"bits", required_argument, NULL, 'b'},
        {"batch", required_argument, NULL, 'n'},
        {"others", required_argument, NULL, 'm'},
        {"samples", required_argument, NULL, 's'},
        {"turns", required_argument, NULL, 'u'},
        {"csv", required_argument, NULL, 'c'},
        {"list", no_argument, NULL, 'l'},
        {"public-offsets", no_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (c == 'p' || c == 'O' || c == 't')
            o->mode = (char)c;
        else if (c == 'k')
            choose_kernel(s, optarg);
        else if (c == 'b')
            s->bits = bench_parse_number(optarg, WARPRSA_MODULUS_BITS_MAX);
        else if (c == 'n')
            s->batch = bench_parse_number(optarg, BATCH_MAX);
        else if (c == 'm')
            s->others = bench_parse_number(optarg, BATCH_MAX);
        else if (c == 's')
            o->samples = bench_parse_number(optarg, SAMPLES_MAX);
        else if (c == 'u')
            o->turns = bench_parse_number(optarg, TURNS_MAX);
        else if (c == 'c')
            o->csv = optarg;
        else if (c == 'l')
            list_kernels();
        else if (c == 'o')
            list_offsets();
        else if (c == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
        if (s->batch == 0 || o->samples == 0 || o->turns == 0)
            bench_refuse(argv[optind - 1], optarg, "see --help");
    }
    if (optind != argc)
        bench_refuse("argument", argv[optind], "options alone, see --help");
    if (o->mode == 0)
        bench_refuse("mode", "", "--profile, --once or --timing is wanted");
    if (paper_shape_of(s->bits) == NULL)
        bench_refuse("--bits", "", "1024, 2048, 3072, 4096");
}

int main(int argc, char **argv)
{
    static subject s = {.bits = 2048, .batch = 512};
    options o = {.samples = 300, .turns = 1};
    int status;

    choose_kernel(&s, batch_run_name(0));
    parse(&s, &o, argc, argv);
    subject_new(&s);
    if (o.mode == 'O')
        status = once(&s);
    else
        status = o.mode == 'p' ? profile(&s, o.turns) : timing(&s, &o);
    subject_free(&s);
    return status;
}
