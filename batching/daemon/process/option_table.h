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

/* What each program has. The first member of its structure of options. */
typedef struct warprsa_common_options {
    char config[256]; /* empty: no file */
    bool help, version;
} warprsa_common_options;

/* One option. `parse` puts a text's value into the field; false: the text is
 * not allowed. */
typedef struct warprsa_option {
    const char *name; /* as in the file, with underscores */
    bool (*parse)(const struct warprsa_option *option, const char *text,
                  void *field);
    const char *initial;
    const char *allowed;
    const char *help;
    size_t offset;     /* of the field in the program's structure */
    unsigned min, max; /* of numbers; max: size of texts */
} warprsa_option;

typedef struct warprsa_option_table {
    const char *program;
    const char *head, *foot; /* of the help; lines, each with its end */
    const warprsa_option *options;
    unsigned count; /* at most WARPRSA_OPTIONS_MAX */
} warprsa_option_table;

enum {
    WARPRSA_OPTIONS_MAX = 48,
};

/* --config, the first row of each table. */
#define WARPRSA_OPTION_CONFIG                                                  \
    {                                                                          \
        "config", warprsa_option_text, "", "a file name", "more options",      \
            offsetof(warprsa_common_options, config), 0,                       \
            sizeof(((warprsa_common_options *)0)->config)                      \
    }

/* For `parse`: a number from min to max; a text; an absolute path; the same or
 * "none", which becomes an empty text; "yes" or "no". */
bool warprsa_option_number(const warprsa_option *option, const char *text,
                           void *field);
bool warprsa_option_text(const warprsa_option *option, const char *text,
                         void *field);
bool warprsa_option_path(const warprsa_option *option, const char *text,
                         void *field);
bool warprsa_option_path_or_none(const warprsa_option *option, const char *text,
                                 void *field);
bool warprsa_option_yes(const warprsa_option *option, const char *text,
                        void *field);

/* Reads the command line and the file into *options, which begins with a
 * warprsa_common_options and is zero. False with the reason, in a sentence for
 * the administrator, in why. */
bool warprsa_option_table_read(const warprsa_option_table *table, void *options,
                               int argc, char **argv, char *why,
                               size_t why_size);

/* Prints the options with their defaults on standard output. */
void warprsa_option_table_help(const warprsa_option_table *table);

#endif
