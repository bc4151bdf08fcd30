/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Options of a program of ours, on the command line and in the file that
 * --config names: "--client-slots 64" is "client_slots = 64" in the file. The
 * command line takes precedence. Both come from the administrator, and mistakes
 * are reported; no client has a part in them. A program has one table, from
 * which its options are parsed, checked and described.
 */
#ifndef WARPRSA_BATCHING_DAEMON_PROCESS_OPTION_TABLE_H
#define WARPRSA_BATCHING_DAEMON_PROCESS_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/base/parameter.h"

/* What each program has. The first member of its structure of options. */
typedef struct warprsa_common_options {
    char config[256]; /* empty: no file */
    bool help, version;
} warprsa_common_options;

typedef struct warprsa_option_table {
    const char *program;
    const char *head, *foot; /* of the help; lines, each with its end */
    const warprsa_parameter *options;
    unsigned count; /* at most WARPRSA_OPTIONS_MAX */
} warprsa_option_table;

enum {
    WARPRSA_OPTIONS_MAX = 48,
};

/* --config, the first row of each table. */
#define WARPRSA_OPTION_CONFIG                                                  \
    {                                                                          \
        .name = "config", .initial = "", .help = "more options",               \
        .offset = offsetof(warprsa_common_options, config),                    \
        .type = &warprsa_text, .said = "a file name",                          \
        .max = sizeof(((warprsa_common_options *)0)->config)                   \
    }

/* Reads the command line and the file into *options, which begins with a
 * warprsa_common_options and is zero. Each required path must be given. False
 * with the reason, in a sentence for the administrator, in why. */
bool warprsa_option_table_read(const warprsa_option_table *table, void *options,
                               int argc, char **argv, char *why,
                               size_t why_size);

/* Prints the options with their defaults on standard output. */
void warprsa_option_table_help(const warprsa_option_table *table);

#endif
