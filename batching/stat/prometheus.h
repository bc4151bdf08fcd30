/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The counters of all programs in Prometheus' text exposition format.
 */
#ifndef WARPRSA_BATCHING_STAT_PROMETHEUS_H
#define WARPRSA_BATCHING_STAT_PROMETHEUS_H

#include <stdio.h>

#include "batching/stat/programs.h"

/* Writes every metric with its description, even if no program has it. Errors
 * stay with the stream. */
void warprsa_prometheus_write(const warprsa_programs *programs, FILE *to);

#endif
