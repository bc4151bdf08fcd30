/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lines of progress, for people and for the file of samples.
 */
#include "bench/load/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static FILE *open_samples(const load_options *options, const char *mode)
{
    FILE *file = fopen(options->samples, mode);

    if (file == NULL)
        load_fail("%s: %s", options->samples, strerror(errno));
    return file;
}

static void close_samples(const load_options *options, FILE *file)
{
    if (fclose(file) != 0)
        load_fail("%s: %s", options->samples, strerror(errno));
}

void load_progress_begin(const load_options *options)
{
    FILE *file = NULL;

    if (options->samples == NULL)
        return;
    file = open_samples(options, "w");
    fputs("subject,run,in_flight,offered,seconds,rate,failed,gpu,cpu,"
          "device_losses,devices,memory_kib,descriptors,"
          "p50_us,p99_us,p999_us,most_us\n",
          file);
    close_samples(options, file);
}

void load_progress(const load_options *options, const load_sample *sample)
{
    const load_result *result = sample->result;
    const char *name = options->subjects[result->subject].name;
    FILE *file = NULL;

    fprintf(stderr,
            "warprsa-load: %s, %u in flight: %.0f of %.0f s, %.0f/s, "
            "%" PRIu64 " failed, %" PRIu64 " MiB, %u descriptors\n",
            name, result->in_flight, sample->at, options->seconds, sample->rate,
            sample->failed, sample->use.memory_kib / 1024,
            sample->use.descriptors);
    if (options->samples == NULL)
        return;
    file = open_samples(options, "a");
    fprintf(file,
            "%s,%u,%u,%.0f,%.2f,%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64
            ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u,%.1f,%.1f,%.1f,%.1f\n",
            name, result->run, result->in_flight, result->offered, sample->at,
            sample->rate, sample->failed, sample->counters.gpu,
            sample->counters.cpu, sample->counters.device_losses,
            sample->counters.devices, sample->use.memory_kib,
            sample->use.descriptors, 1e-3 * (double)sample->p50_ns,
            1e-3 * (double)sample->p99_ns, 1e-3 * (double)sample->p999_ns,
            1e-3 * (double)sample->most_ns);
    close_samples(options, file);
}
