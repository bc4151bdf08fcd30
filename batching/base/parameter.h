/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parameters of a configuration, one row each: the provider's, the daemon's and
 * the gateway's. A program lists its rows as
 *
 *     X(KIND, NAME, DEFAULT, HELP)
 *
 * where NAME is the field of its structure and what users write. The structure
 * is made of the rows by WARPRSA_PARAMETER_FIELD, the table that reads it by
 * WARPRSA_PARAMETER_ROW; what is allowed and errors follow from KIND.
 */
#ifndef WARPRSA_BATCHING_BASE_PARAMETER_H
#define WARPRSA_BATCHING_BASE_PARAMETER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What "auto" stands for. */
#define WARPRSA_AUTO UINT_MAX

/* A word and what it stands for. A list ends with one without text. */
typedef struct warprsa_word {
    const char *text;
    unsigned value;
} warprsa_word;

struct warprsa_parameter;

typedef struct warprsa_parameter_type {
    /* Puts a text's value into the field. False: the text is not allowed. */
    bool (*parse)(const struct warprsa_parameter *parameter, const char *text,
                  void *field);
    /* Says what is allowed, to go on after "expected". */
    void (*allowed)(const struct warprsa_parameter *parameter, char *text,
                    size_t size);
} warprsa_parameter_type;

typedef struct warprsa_parameter {
    const char *name, *initial, *help;
    size_t offset; /* of the field */
    const warprsa_parameter_type *type;
    unsigned min, max;         /* of numbers; max: size of a text's field */
    const warprsa_word *words; /* for types that have some */
    const char *said;          /* of texts: what is allowed, or "no pattern" */
} warprsa_parameter;

/* The types: a number; a number or "auto"; one of some words, as in "one of a,
 * b" and in "a or b"; numbers of devices, a bit each; a text; an absolute path;
 * a path or "none", which is an empty text; a path that must be given; patterns
 * of paths, with a word for no pattern. */
extern const warprsa_parameter_type warprsa_number, warprsa_auto_number,
    warprsa_one_of, warprsa_choice, warprsa_devices, warprsa_text, warprsa_path,
    warprsa_path_or_none, warprsa_required_path, warprsa_patterns;

/* The kinds of rows: type of the field, its size if it is a text, and what the
 * table says of it. */
#define WARPRSA_KIND_NUMBER(low, high)                                         \
    unsigned, , .type = &warprsa_number, .min = (low), .max = (high)
#define WARPRSA_KIND_AUTO_NUMBER(low, high)                                    \
    unsigned, , .type = &warprsa_auto_number, .min = (low), .max = (high)
#define WARPRSA_KIND_ONE_OF(list)                                              \
    unsigned, , .type = &warprsa_one_of, .words = (list)
#define WARPRSA_KIND_CHOICE(list)                                              \
    unsigned, , .type = &warprsa_choice, .words = (list)
#define WARPRSA_KIND_DEVICES(high)                                             \
    unsigned, , .type = &warprsa_devices, .max = (high)
#define WARPRSA_KIND_TEXT(size, allowed)                                       \
    char, [size], .type = &warprsa_text, .max = (size), .said = (allowed)
#define WARPRSA_KIND_PATH(size)                                                \
    char, [size], .type = &warprsa_path, .max = (size)
#define WARPRSA_KIND_PATH_OR_NONE(size)                                        \
    char, [size], .type = &warprsa_path_or_none, .max = (size)
#define WARPRSA_KIND_REQUIRED_PATH(size)                                       \
    char, [size], .type = &warprsa_required_path, .max = (size)
#define WARPRSA_KIND_PATTERNS(size, no)                                        \
    char, [size], .type = &warprsa_patterns, .max = (size), .said = (no)

#define WARPRSA_FIELD_OF(name, type, size, ...) type name size;
#define WARPRSA_FIELD_FROM(...)                 WARPRSA_FIELD_OF(__VA_ARGS__)
#define WARPRSA_TABLE_OF(type, size, ...)       __VA_ARGS__
#define WARPRSA_TABLE_FROM(...)                 WARPRSA_TABLE_OF(__VA_ARGS__)

#define WARPRSA_PARAMETER_FIELD(kind, name, initial_, help_)                   \
    WARPRSA_FIELD_FROM(name, WARPRSA_KIND_##kind)
#define WARPRSA_PARAMETER_ROW(structure, kind, name_, initial_, help_)         \
    {.name = #name_,                                                           \
     .initial = (initial_),                                                    \
     .help = (help_),                                                          \
     .offset = offsetof(structure, name_),                                     \
     WARPRSA_TABLE_FROM(WARPRSA_KIND_##kind)},

/* Puts the value of `text` into the parameter's field of the structure. False
 * with "expected ..." in `why`. */
bool warprsa_parameter_set(const warprsa_parameter *parameter, const char *text,
                           void *structure, char *why, size_t why_size);

#endif
