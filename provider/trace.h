/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The trace: lines for a person about the life of the provider and its
 * devices, on standard error or in a file. They never hold key material.
 */
#ifndef WARPRSA_PROVIDER_TRACE_H
#define WARPRSA_PROVIDER_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/base/own_fd.h"

typedef struct warprsa_trace {
    int fd;              /* -1: off */
    int level;           /* lines of a higher level are dropped */
    warprsa_own_fd file; /* `fd`, opened here; none: it is standard error */
} warprsa_trace;

#define WARPRSA_NO_TRACE ((warprsa_trace){.fd = -1, .file = WARPRSA_NO_FD})

#define WARPRSA_TRACE_ALLOWED                                                  \
    "none, stderr or file:PATH, each but none with an optional ,level:1 or "   \
    ",level:2"

/*
 * Opens a trace as `text` says. False: the text isn't WARPRSA_TRACE_ALLOWED or
 * the file can't be opened; `why`, of why_size bytes, says which, and the trace
 * stays off. One thread.
 */
bool warprsa_trace_open(warprsa_trace *trace, const char *text, char *why,
                        size_t why_size);

/* Switches a trace off; it may already be off. One thread. */
void warprsa_trace_close(warprsa_trace *trace);

/* Writes "warprsa[PID] LINE" in one write. It is a warprsa_trace_fn, and
 * `trace` is a warprsa_trace. Any thread; keeps errno. */
void warprsa_trace_line(void *trace, int level, const char *line);

/* As warprsa_trace_line(), with a format. Lines are cut at 1,000 characters. */
void warprsa_trace_printf(warprsa_trace *trace, int level, const char *format,
                          ...) __attribute__((format(printf, 3, 4)));

#endif
