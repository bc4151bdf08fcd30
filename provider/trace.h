/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The trace: lines for a person about the life of the provider and its
 * devices, on standard error or in a file. Never key material.
 */
#ifndef WARPRSA_TRACE_H
#define WARPRSA_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct warprsa_trace {
    int fd;    /* -1: off */
    int level; /* lines above it are dropped */
    bool file; /* opened here; else standard error */
    dev_t device;
    ino_t inode;
} warprsa_trace;

#define WARPRSA_TRACE_ALLOWED                                                  \
    "none, stderr or file:PATH, each but none with an optional ,level:1 or "   \
    ",level:2"

/*
 * Opens a trace as `text` says. False with the reason in `why`: the text isn't
 * WARPRSA_TRACE_ALLOWED or the file can't be opened; the trace is off then.
 */
bool warprsa_trace_open(warprsa_trace *trace, const char *text, char *why,
                        size_t why_size);
/* Off afterwards; also of one that is off. */
void warprsa_trace_close(warprsa_trace *trace);

/* Writes "warprsa[PID] LINE" in one write. A warprsa_trace_fn: `trace` is a
 * warprsa_trace. Any thread; keeps errno. */
void warprsa_trace_line(void *trace, int level, const char *line);

/* The same with a format; lines are cut at 1,000 characters. */
void warprsa_trace_printf(warprsa_trace *trace, int level, const char *format,
                          ...) __attribute__((format(printf, 3, 4)));

#endif
