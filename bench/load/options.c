/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The options of the load generator and their help.
 */
#include "bench/load/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const load_kind_names[LOAD_KINDS] = {"pkcs1", "bare", "raw", "pss",
                                                 "oaep"};

static const char help[] =
    "usage: warprsa-load [OPTION]...\n"
    "Makes RSA private operations through OpenSSL, many at once, and says how\n"
    "many a second there were, how long they took, what CPU time they cost,\n"
    "and where they ran. Subjects are measured one after another, each in a\n"
    "process of its own, with the same keys.\n"
    "\n"
    "  --subject='NAME [KEY=VALUE]...'  what is measured; may be repeated: "
    "the\n"
    "                     default provider if NAME is \"default\", otherwise\n"
    "                     the module with these settings of its section\n"
    "                     (default, and the module without settings)\n"
    "  --module=PATH      the module (warprsa.so in OpenSSL's directory)\n"
    "  --mix=KIND[:WEIGHT],...          pkcs1, bare (no digest named), raw\n"
    "                     (padded by the caller), pss (sign), oaep (decrypt);\n"
    "                     (pkcs1)\n"
    "  --keys=BITS[xCOUNT][:WEIGHT],... 1024 to 4096 bits, 100,000 of each\n"
    "                     length at most (2048x8). They are products of pairs\n"
    "                     of few primes, n primes for n (n - 1) / 2 keys, so\n"
    "                     anyone who has two moduli can factor them: they are\n"
    "                     for measuring alone\n"
    "  --key-files=FILE,...             keys in PEM instead, or references to\n"
    "                     keys of warprsad; these want --wake=fd\n"
    "  --distribution=uniform|zipf:S    of the keys of one length: each is\n"
    "                     used as often as any other, or by Zipf's law, the\n"
    "                     key of rank r in proportion to r^-S, S from 0.01\n"
    "                     to 10 (uniform)\n"
    "  --threads=N        threads at most (CPUs of this machine)\n"
    "  --in-flight=N,...  operations under way at once, over all threads;\n"
    "                     each number is a measurement (threads * 64)\n"
    "  --jobs=N,...       the same, counted per thread\n"
    "  --blocking         as many threads as operations, without async jobs\n"
    "  --wake=fd|callback how jobs are woken (callback); with mode=daemon\n"
    "                     those that want a callback sleep instead of pausing\n"
    "  --contexts=kept|fresh            EVP_PKEY_CTX: kept for the next\n"
    "                     operation, as `openssl speed` does, or made for\n"
    "                     each, as TLS does (kept)\n"
    "  --rate=N|N%,...    open loop: so many arrivals a second, or percent of\n"
    "                     what the closed loop reaches, which is measured\n"
    "                     first; latency counts from the arrival (closed)\n"
    "  --arrivals=poisson|even          (poisson)\n"
    "  --warm-up=SECONDS  before each measurement (0.5)\n"
    "  --seconds=SECONDS  of each measurement (2)\n"
    "  --runs=N           so many times each (1)\n"
    "  --verify-every=N   results of so many are verified by the default\n"
    "                     provider (256)\n"
    "  --devices=N        wait until so many devices are at work, unless\n"
    "                     \"engine=none\" or \"route=cpu\" is set (1)\n"
    "  --devices-seconds=SECONDS        but no longer than that (60)\n"
    "  --csv=FILE --json=FILE           results\n"
    "  --samples=FILE     progress as comma-separated values\n"
    "  --interval=SECONDS of progress (10)\n"
    "\n"
    "Exit status 1: operations failed, were wrong or lost, or did not pass "
    "the\n"
    "provider. 2: nothing could be measured.\n";

void load_fail(const char *format, ...)
{
    va_list arguments;

    fputs("warprsa-load: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(2); /* not exit(): other threads may run and use what it frees */
}

/* Parses a number at *text and moves *text behind it. */
static unsigned number(const char *option, const char **text, unsigned least,
                       unsigned most)
{
    char *end = NULL;
    unsigned long value = 0;

    errno = 0;
    value = strtoul(*text, &end, 10);
    if (!isdigit((unsigned char)**text) || errno != 0 || value < least ||
        value > most)
        load_fail("--%s: \"%s\": a number from %u to %u is wanted", option,
                  *text, least, most);
    *text = end;
    return (unsigned)value;
}

static unsigned whole_number(const char *option, const char *text,
                             unsigned least, unsigned most)
{
    const char *rest = text;
    unsigned value = number(option, &rest, least, most);

    if (*rest != '\0')
        load_fail("--%s: \"%s\": a number from %u to %u is wanted", option,
                  text, least, most);
    return value;
}

static double fraction(const char *option, const char *text, double least)
{
    char *end = NULL;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value) || value < least ||
        value > 1e6)
        load_fail("--%s: \"%s\": seconds from %g to 1000000 are wanted", option,
                  text, least);
    return value;
}

/* Steps over the comma of a list; false at its end. */
static bool another(const char *option, const char **text, size_t count,
                    size_t most)
{
    if (**text == '\0')
        return false;
    if (**text != ',')
        load_fail("--%s: \"%s\": a comma is wanted here", option, *text);
    if (count == most)
        load_fail("--%s: %zu at most", option, most);
    ++*text;
    return true;
}

static unsigned weight(const char *option, const char **text)
{
    if (**text != ':')
        return 1;
    ++*text;
    return number(option, text, 1, 1000000);
}

static double parse_distribution(const char *text)
{
    static const char zipf[] = "zipf:";
    const char *number = text + sizeof(zipf) - 1;
    double exponent = 0;
    char *end = NULL;

    if (strcmp(text, "uniform") == 0)
        return 0;
    if (strncmp(text, zipf, sizeof(zipf) - 1) == 0 &&
        isdigit((unsigned char)*number)) {
        exponent = strtod(number, &end);
        if (*end == '\0' && exponent >= 0.01 && exponent <= 10)
            return exponent;
    }
    load_fail(
        "--distribution: \"%s\": uniform or zipf:S, S from 0.01 to 10, is "
        "wanted",
        text);
}

static void parse_mix(load_options *o, const char *text)
{
    memset(o->weights, 0, sizeof(o->weights));
    do {
        size_t length = strcspn(text, ":,");
        int kind = 0;

        while (kind < LOAD_KINDS &&
               (strlen(load_kind_names[kind]) != length ||
                memcmp(load_kind_names[kind], text, length) != 0))
            kind++;
        if (kind == LOAD_KINDS)
            load_fail("--mix: \"%s\": pkcs1, bare, raw, pss or oaep is wanted",
                      text);
        text += length;
        o->weights[kind] = weight("mix", &text);
    } while (another("mix", &text, 0, 1));
}

static void parse_keys(load_options *o, const char *text)
{
    o->groups_count = 0;
    do {
        load_group *group = &o->groups[o->groups_count++];

        *group = (load_group){number("keys", &text, 1024, 4096), 1, 1};
        if (group->bits % 2 != 0)
            load_fail("--keys: %u: an even number of bits is wanted",
                      group->bits);
        if (*text == 'x') {
            text++;
            group->count = number("keys", &text, 1, 100000);
        }
        group->weight = weight("keys", &text);
    } while (another("keys", &text, o->groups_count, LOAD_GROUPS_MAX));
}

static void parse_key_files(load_options *o, char *text)
{
    for (char *file = text; file != NULL;) {
        if (o->key_files_count == LOAD_LIST_MAX)
            load_fail("--key-files: %d at most", LOAD_LIST_MAX);
        o->key_files[o->key_files_count++] = strsep(&file, ",");
    }
}

static void parse_in_flight(load_options *o, const char *option,
                            const char *text, unsigned most)
{
    o->in_flight_count = 0;
    do
        o->in_flight[o->in_flight_count++] = number(option, &text, 1, most);
    while (another(option, &text, o->in_flight_count, LOAD_LIST_MAX));
}

static void parse_rates(load_options *o, const char *text)
{
    o->rates_count = 0;
    do {
        load_rate *rate = &o->rates[o->rates_count++];

        rate->value = number("rate", &text, 1, 100000000);
        rate->percent = *text == '%';
        text += rate->percent;
    } while (another("rate", &text, o->rates_count, LOAD_LIST_MAX));
}

static bool choice(const char *option, const char *text, const char *no,
                   const char *yes)
{
    if (strcmp(text, yes) != 0 && strcmp(text, no) != 0)
        load_fail("--%s: \"%s\": %s or %s is wanted", option, text, yes, no);
    return strcmp(text, yes) == 0;
}

static void parse_subject(load_options *o, const char *text)
{
    load_subject_options *subject = &o->subjects[o->subjects_count];
    size_t length = strcspn(text, " ");

    if (o->subjects_count++ == LOAD_SUBJECTS_MAX)
        load_fail("--subject: %d at most", LOAD_SUBJECTS_MAX);
    if (length == 0 || length >= LOAD_NAME_MAX)
        load_fail("--subject: \"%s\": a name of 1 to %d letters comes first",
                  text, LOAD_NAME_MAX - 1);
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '"' || *c == '\\' || !isprint((unsigned char)*c))
            load_fail("--subject: \"%s\": no quotes, backslashes or control "
                      "characters",
                      text);
    memcpy(subject->name, text, length);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && strchr("_.-", text[i]) == NULL)
            load_fail("--subject: \"%s\": letters, digits, '_', '.' and '-'",
                      subject->name);
    text += length + strspn(text + length, " ");
    subject->is_default = strcmp(subject->name, "default") == 0;
    if (subject->is_default && *text != '\0')
        load_fail("--subject: the default provider has no settings");
    if (strlen(text) >= LOAD_SETTINGS_MAX)
        load_fail("--subject: \"%s\": %d letters of settings at most", text,
                  LOAD_SETTINGS_MAX - 1);
    strcpy(subject->settings, text);
}

enum {
    JOBS = 256,
    SUBJECT,
    MODULE,
    MIX,
    KEYS,
    KEY_FILES,
    DISTRIBUTION,
    THREADS,
    IN_FLIGHT,
    BLOCKING,
    WAKE,
    CONTEXTS,
    RATE,
    ARRIVALS,
    WARM_UP,
    SECONDS,
    RUNS,
    VERIFY,
    DEVICES,
    DEVICES_SECONDS,
    CSV,
    JSON,
    SAMPLES,
    INTERVAL,
    HELP,
};

static const struct option names[] = {
    {"subject", required_argument, NULL, SUBJECT},
    {"module", required_argument, NULL, MODULE},
    {"mix", required_argument, NULL, MIX},
    {"keys", required_argument, NULL, KEYS},
    {"key-files", required_argument, NULL, KEY_FILES},
    {"distribution", required_argument, NULL, DISTRIBUTION},
    {"threads", required_argument, NULL, THREADS},
    {"in-flight", required_argument, NULL, IN_FLIGHT},
    {"jobs", required_argument, NULL, JOBS},
    {"blocking", no_argument, NULL, BLOCKING},
    {"wake", required_argument, NULL, WAKE},
    {"contexts", required_argument, NULL, CONTEXTS},
    {"rate", required_argument, NULL, RATE},
    {"arrivals", required_argument, NULL, ARRIVALS},
    {"warm-up", required_argument, NULL, WARM_UP},
    {"seconds", required_argument, NULL, SECONDS},
    {"runs", required_argument, NULL, RUNS},
    {"verify-every", required_argument, NULL, VERIFY},
    {"devices", required_argument, NULL, DEVICES},
    {"devices-seconds", required_argument, NULL, DEVICES_SECONDS},
    {"csv", required_argument, NULL, CSV},
    {"json", required_argument, NULL, JSON},
    {"samples", required_argument, NULL, SAMPLES},
    {"interval", required_argument, NULL, INTERVAL},
    {"help", no_argument, NULL, HELP},
    {0},
};

/* A path as OpenSSL finds it: a relative one it would look for in its own
 * directory of modules. A name alone is for that directory. */
static const char *module_path(const char *value)
{
    static char path[PATH_MAX];

    if (strchr(value, '/') == NULL)
        return value;
    if (realpath(value, path) == NULL)
        load_fail("--module: \"%s\": %s", value, strerror(errno));
    return path;
}

/* The options that say what is done. False: this is another option. */
static bool load_option(load_options *o, int option, char *value)
{
    switch (option) {
    case SUBJECT:
        parse_subject(o, value);
        return true;
    case MODULE:
        o->module = module_path(value);
        return true;
    case MIX:
        parse_mix(o, value);
        return true;
    case KEYS:
        parse_keys(o, value);
        return true;
    case KEY_FILES:
        parse_key_files(o, value);
        return true;
    case DISTRIBUTION:
        o->zipf = parse_distribution(value);
        return true;
    case THREADS:
        o->threads = whole_number("threads", value, 1, 4096);
        return true;
    case BLOCKING:
        o->blocking = true;
        return true;
    case WAKE:
        o->callbacks = choice("wake", value, "fd", "callback");
        return true;
    case CONTEXTS:
        o->fresh = choice("contexts", value, "kept", "fresh");
        return true;
    case RATE:
        parse_rates(o, value);
        return true;
    case ARRIVALS:
        o->even = choice("arrivals", value, "poisson", "even");
        return true;
    default:
        return false;
    }
}

/* The options that say how it is measured. */
static void measuring_option(load_options *o, int option, const char *value)
{
    switch (option) {
    case WARM_UP:
        o->warm_up = fraction("warm-up", value, 0);
        break;
    case SECONDS:
        o->seconds = fraction("seconds", value, 0.01);
        break;
    case INTERVAL:
        o->interval = fraction("interval", value, 0.01);
        break;
    case RUNS:
        o->runs = whole_number("runs", value, 1, 1000);
        break;
    case VERIFY:
        o->verify_every = whole_number("verify-every", value, 1, 1000000000);
        break;
    case DEVICES:
        o->devices = whole_number("devices", value, 0, 16);
        break;
    case DEVICES_SECONDS:
        o->devices_seconds = fraction("devices-seconds", value, 0);
        break;
    case CSV:
        o->csv = value;
        break;
    case JSON:
        o->json = value;
        break;
    case SAMPLES:
        o->samples = value;
        break;
    case HELP:
        fputs(help, stdout);
        exit(EXIT_SUCCESS);
    default:
        load_fail("see warprsa-load --help");
    }
}

/* Checks and defaults that depend on more than one option. */
static void settle(load_options *o, const char *in_flight, const char *jobs)
{
    if (in_flight != NULL && jobs != NULL)
        load_fail("--in-flight and --jobs: one of them");
    if (jobs != NULL && o->blocking)
        load_fail("--jobs and --blocking: one of them");
    if (in_flight != NULL) {
        parse_in_flight(o, "in-flight", in_flight, LOAD_IN_FLIGHT_MAX);
    } else {
        parse_in_flight(o, "jobs",
                        jobs != NULL ? jobs : (o->blocking ? "1" : "64"),
                        LOAD_IN_FLIGHT_MAX / o->threads);
        for (size_t i = 0; i < o->in_flight_count; i++)
            o->in_flight[i] *= o->threads;
    }
    for (size_t i = 0; o->blocking && i < o->in_flight_count; i++)
        if (o->in_flight[i] > 4096)
            load_fail("--in-flight: with --blocking 4096 threads at most");
    if (o->subjects_count == 0) {
        parse_subject(o, "default");
        parse_subject(o, "warprsa");
    }
}

void load_options_parse(load_options *o, int argc, char **argv)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const char *in_flight = NULL, *jobs = NULL;
    int option = 0;

    *o = (load_options){
        .module = "warprsa.so",
        .threads = cpus > 0 ? (unsigned)cpus : 1,
        .callbacks = true,
        .warm_up = 0.5,
        .seconds = 2,
        .interval = 10,
        .runs = 1,
        .verify_every = 256,
        .devices = 1,
        .devices_seconds = 60,
    };
    parse_mix(o, "pkcs1");
    parse_keys(o, "2048x8");
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (option == IN_FLIGHT)
            in_flight = optarg;
        else if (option == JOBS)
            jobs = optarg;
        else if (!load_option(o, option, optarg))
            measuring_option(o, option, optarg);
    }
    if (optind < argc)
        load_fail("\"%s\": no such argument; see --help", argv[optind]);
    settle(o, in_flight, jobs);
}
