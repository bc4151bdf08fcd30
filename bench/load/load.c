/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * warprsa-load: RSA private operations through OpenSSL, many at once, measured
 * with the default provider and with the module. --help says the rest.
 *
 * Each subject runs in a child process, one after the other. So its CPU time,
 * memory and descriptors are its own, no thread of another subject runs, and if
 * it crashes the results of the others stay.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/load/measure.h"
#include "bench/load/progress.h"
#include "bench/load/report.h"
#include "gpu/engine.h"

/* Sends a result, in the child. It is smaller than PIPE_BUF, so it is written
 * in one piece. */
static void send_result(void *arg, const load_result *result)
{
    const int *fd = arg;

    if (write(*fd, result, sizeof(*result)) != (ssize_t)sizeof(*result))
        load_fail("a result can't be handed on: %s", strerror(errno));
}

static bool receive_result(int fd, load_result *result)
{
    size_t have = 0;
    ssize_t got = 0;

    while (have < sizeof(*result)) {
        got = read(fd, (char *)result + have, sizeof(*result) - have);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        have += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool ended_well(const load_subject_options *subject, pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            load_fail("waitpid: %s", strerror(errno));
    if (WIFSIGNALED(status))
        fprintf(stderr, "warprsa-load: %s was ended by signal %d\n",
                subject->name, WTERMSIG(status));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        fflush(NULL);
        _exit(2); /* the child has printed why */
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Ends this process when its parent ends: whoever stops that one means both. */
static void end_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it has ended already */
        _exit(EXIT_FAILURE);
}

/* Measures a subject; false if not all went well. */
static bool run_subject(load_report *report, load_keys *keys, unsigned subject)
{
    const load_options *options = report->options;
    load_result result;
    bool well = true;
    int ends[2];
    const pid_t parent = getpid();
    pid_t child = 0;

    fflush(NULL);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        load_fail("no process can be started: %s", strerror(errno));
    if (child == 0) {
        end_with(parent);
        close(ends[0]);
        load_measure(options, keys, subject, send_result, &ends[1]);
        load_keys_free(keys);
        exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    while (receive_result(ends[0], &result)) {
        load_report_result(report, &result);
        well = load_report_judge(options, &result) && well;
    }
    close(ends[0]);
    return ended_well(&options->subjects[subject], child) && well;
}

int main(int argc, char **argv)
{
    load_options options;
    load_report report;
    load_keys keys;
    bool well = true;

    /* A program loads its providers before it has threads, and warprsa then
     * asks for as much (gpu/engine.h). The keys here are made by threads. */
    (void)warprsa_hardware_queues(WARPRSA_GPU_STREAMS_MAX);
    load_options_parse(&options, argc, argv);
    load_progress_begin(&options);
    load_keys_make(&keys, &options);
    load_report_begin(&report, &options);
    for (unsigned i = 0; i < options.subjects_count; i++)
        well = run_subject(&report, &keys, i) && well;
    load_keys_free(&keys);
    well = load_report_end(&report) && well;
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
