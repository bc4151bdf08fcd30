/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The command line of the load generator.
 */
#ifndef WARPRSA_LOAD_OPTIONS_H
#define WARPRSA_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    LOAD_LIST_MAX = 64,
    LOAD_SUBJECTS_MAX = 16,
    LOAD_GROUPS_MAX = 16,
    LOAD_NAME_MAX = 32,
    LOAD_SETTINGS_MAX = 256,
    LOAD_IN_FLIGHT_MAX = 1 << 20,
};

/* The operations there are; their names are in load_kind_names. */
typedef enum load_kind {
    LOAD_PKCS1, /* sign, RSASSA-PKCS1-v1_5, SHA-256 */
    LOAD_BARE,  /* the same, the digest not named, as `openssl speed` does:
                   libcrypto 3.0 then looks up no name, under locks */
    LOAD_RAW,   /* the same signature, padded by the caller */
    LOAD_PSS,   /* sign, RSASSA-PSS, SHA-256, salt as long as the digest */
    LOAD_OAEP,  /* decrypt, RSAES-OAEP, SHA-256 */
    LOAD_KINDS
} load_kind;

extern const char *const load_kind_names[LOAD_KINDS];

/* A group of `count` keys of one length. Weights say how often a group is used
 * in proportion to the others. */
typedef struct load_group {
    unsigned bits, count, weight;
} load_group;

/* A subject, which is what is measured: the default provider alone, or the
 * module with these settings in its section, "name=value" separated by blanks.
 */
typedef struct load_subject_options {
    bool is_default;
    char name[LOAD_NAME_MAX];
    char settings[LOAD_SETTINGS_MAX];
} load_subject_options;

/* Arrivals per second, or percent of what the closed loop reached. */
typedef struct load_rate {
    double value;
    bool percent;
} load_rate;

typedef struct load_options {
    load_subject_options subjects[LOAD_SUBJECTS_MAX];
    size_t subjects_count;
    const char *module;
    unsigned weights[LOAD_KINDS];
    load_group groups[LOAD_GROUPS_MAX];
    size_t groups_count;
    /* PEM, which the subject loads in the place of keys that are made: private
     * keys, or references to those of a vault. */
    const char *key_files[LOAD_LIST_MAX];
    size_t key_files_count;
    unsigned threads; /* at most */
    unsigned in_flight[LOAD_LIST_MAX];
    size_t in_flight_count;
    bool blocking;  /* a thread per operation instead of async jobs */
    bool callbacks; /* jobs are woken by callback, not by descriptor */
    bool fresh;     /* a new EVP_PKEY_CTX for each operation */
    double zipf;    /* exponent of Zipf's law within a group of keys; 0: all
                       keys alike */
    load_rate rates[LOAD_LIST_MAX]; /* none: closed loop */
    size_t rates_count;
    bool even; /* arrivals, instead of Poisson's */
    double warm_up, seconds, interval;
    unsigned runs, verify_every;
    unsigned devices; /* to wait for before anything is measured */
    double devices_seconds;
    const char *csv, *json, *samples;
} load_options;

/* Parses the command line. If it makes no sense, ends the program with status 2
 * and a message that says what is allowed; after --help with status 0. */
void load_options_parse(load_options *options, int argc, char **argv);

/* Prints "warprsa-load: ..." on stderr and ends the process with status 2. For
 * failures that leave nothing to be measured. */
_Noreturn void load_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
