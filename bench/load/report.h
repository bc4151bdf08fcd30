/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reports of the results: a table for people, CSV and JSON for programs.
 */
#ifndef WARPRSA_LOAD_REPORT_H
#define WARPRSA_LOAD_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/load/measure.h"

typedef struct load_report {
    const load_options *options;
    FILE *csv, *json; /* NULL: not wanted */
    unsigned results;
} load_report;

/* Opens the files and writes what comes first; load_fail() if one can't be
 * opened. */
void load_report_begin(load_report *report, const load_options *options);

void load_report_result(load_report *report, const load_result *result);

/* False, with a message: a file could not be written. */
bool load_report_end(load_report *report);

/* Whether operations ended as they should; if not, says on stderr what
 * happened. */
bool load_report_judge(const load_options *options, const load_result *result);

#endif
