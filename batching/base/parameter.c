/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The types of parameters: see parameter.h.
 */
#include "batching/base/parameter.h"

#include <stdio.h>
#include <string.h>

#include "batching/base/config_value.h"

static bool parse_number(const warprsa_parameter *parameter, const char *text,
                         void *field)
{
    return warprsa_config_number(text, parameter->min, parameter->max, field);
}

static void say_number(const warprsa_parameter *parameter, char *text,
                       size_t size)
{
    snprintf(text, size, "a number from %u to %u", parameter->min,
             parameter->max);
}

static bool parse_auto_number(const warprsa_parameter *parameter,
                              const char *text, void *field)
{
    return warprsa_config_number_or_auto(text, parameter->min, parameter->max,
                                         WARPRSA_AUTO, field);
}

static void say_auto_number(const warprsa_parameter *parameter, char *text,
                            size_t size)
{
    snprintf(text, size, "auto or a number from %u to %u", parameter->min,
             parameter->max);
}

static bool parse_word(const warprsa_parameter *parameter, const char *text,
                       void *field)
{
    for (const warprsa_word *word = parameter->words; word->text != NULL;
         word++)
        if (strcmp(text, word->text) == 0) {
            *(unsigned *)field = word->value;
            return true;
        }
    return false;
}

/* Appends the words, the last one after `last`. */
static void say_words(const warprsa_word *words, const char *last, char *text,
                      size_t size)
{
    for (const warprsa_word *word = words; word->text != NULL; word++) {
        const size_t length = strlen(text);

        snprintf(text + length, size - length, "%s%s",
                 word == words          ? ""
                 : word[1].text == NULL ? last
                                        : ", ",
                 word->text);
    }
}

static void say_one_of(const warprsa_parameter *parameter, char *text,
                       size_t size)
{
    snprintf(text, size, "one of ");
    say_words(parameter->words, ", ", text, size);
}

static void say_choice(const warprsa_parameter *parameter, char *text,
                       size_t size)
{
    text[0] = '\0';
    say_words(parameter->words, " or ", text, size);
}

static bool parse_devices(const warprsa_parameter *parameter, const char *text,
                          void *field)
{
    return warprsa_config_devices(text, parameter->max, field);
}

static void say_devices(const warprsa_parameter *parameter, char *text,
                        size_t size)
{
    snprintf(text, size,
             "all, or device numbers from 0 to %u separated by commas",
             parameter->max);
}

static bool parse_text(const warprsa_parameter *parameter, const char *text,
                       void *field)
{
    if (strlen(text) >= parameter->max)
        return false;
    strcpy(field, text);
    return true;
}

static void say_text(const warprsa_parameter *parameter, char *text,
                     size_t size)
{
    snprintf(text, size, "%s", parameter->said);
}

static bool parse_path(const warprsa_parameter *parameter, const char *text,
                       void *field)
{
    return text[0] == '/' && parse_text(parameter, text, field);
}

static void say_path(const warprsa_parameter *parameter, char *text,
                     size_t size)
{
    snprintf(text, size, "an absolute path of at most %u bytes",
             parameter->max - 1);
}

static bool parse_path_or_none(const warprsa_parameter *parameter,
                               const char *text, void *field)
{
    return strcmp(text, "none") == 0 ? parse_text(parameter, "", field)
                                     : parse_path(parameter, text, field);
}

static void say_path_or_none(const warprsa_parameter *parameter, char *text,
                             size_t size)
{
    snprintf(text, size, "none or an absolute path of at most %u bytes",
             parameter->max - 1);
}

/* Patterns that begin with "/", separated by commas. */
static bool parse_patterns(const warprsa_parameter *parameter, const char *text,
                           void *field)
{
    const char *pattern = text;

    if (strcmp(text, parameter->said) == 0)
        return parse_text(parameter, "", field);
    while (pattern != NULL) {
        pattern += strspn(pattern, " \t");
        if (*pattern != '/')
            return false;
        pattern = strchr(pattern, ',');
        pattern = pattern != NULL ? pattern + 1 : NULL;
    }
    return parse_text(parameter, text, field);
}

static void say_patterns(const warprsa_parameter *parameter, char *text,
                         size_t size)
{
    snprintf(text, size,
             "%s, or patterns of absolute paths separated by commas, in all at "
             "most %u bytes",
             parameter->said, parameter->max - 1);
}

const warprsa_parameter_type warprsa_number = {parse_number, say_number};
const warprsa_parameter_type warprsa_auto_number = {parse_auto_number,
                                                    say_auto_number};
const warprsa_parameter_type warprsa_one_of = {parse_word, say_one_of};
const warprsa_parameter_type warprsa_choice = {parse_word, say_choice};
const warprsa_parameter_type warprsa_devices = {parse_devices, say_devices};
const warprsa_parameter_type warprsa_text = {parse_text, say_text};
const warprsa_parameter_type warprsa_path = {parse_path, say_path};
const warprsa_parameter_type warprsa_path_or_none = {parse_path_or_none,
                                                     say_path_or_none};
const warprsa_parameter_type warprsa_required_path = {parse_path_or_none,
                                                      say_path};
const warprsa_parameter_type warprsa_patterns = {parse_patterns, say_patterns};

bool warprsa_parameter_set(const warprsa_parameter *parameter, const char *text,
                           void *structure, char *why, size_t why_size)
{
    char allowed[160];

    if (parameter->type->parse(parameter, text,
                               (char *)structure + parameter->offset))
        return true;
    parameter->type->allowed(parameter, allowed, sizeof(allowed));
    snprintf(why, why_size, "expected %s", allowed);
    return false;
}
