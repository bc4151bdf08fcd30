/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading and describing the options of a table; see option_table.h.
 */
#include "batching/daemon/process/option_table.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "batching/base/config_value.h"

enum {
    NAME_SIZE = 32,
    HELP = WARPRSA_OPTIONS_MAX,
    VERSION,
};

bool warprsa_option_number(const warprsa_option *option, const char *text,
                           void *field)
{
    return warprsa_config_number(text, option->min, option->max, field);
}

bool warprsa_option_text(const warprsa_option *option, const char *text,
                         void *field)
{
    if (strlen(text) >= option->max)
        return false;
    strcpy(field, text);
    return true;
}

bool warprsa_option_path(const warprsa_option *option, const char *text,
                         void *field)
{
    return text[0] == '/' && warprsa_option_text(option, text, field);
}

bool warprsa_option_path_or_none(const warprsa_option *option, const char *text,
                                 void *field)
{
    return warprsa_option_path(option, text, field) ||
           (strcmp(text, "none") == 0 &&
            warprsa_option_text(option, "", field));
}

bool warprsa_option_yes(const warprsa_option *option, const char *text,
                        void *field)
{
    (void)option;
    *(bool *)field = strcmp(text, "yes") == 0;
    return *(bool *)field || strcmp(text, "no") == 0;
}

static bool set(void *options, const warprsa_option *option, const char *text,
                const char *where, char *why, size_t why_size)
{
    if (option->parse(option, text, (char *)options + option->offset))
        return true;
    snprintf(why, why_size, "%s: %s = %s: expected %s", where, option->name,
             text, option->allowed);
    return false;
}

static char *trim(char *text)
{
    char *end;

    text += strspn(text, " \t\r\n");
    end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    return text;
}

static bool set_line(const warprsa_option_table *table, void *options,
                     char *line, const char *where, char *why, size_t why_size)
{
    char *equals = strchr(line, '=');
    char *name = trim(line);

    if (name[0] == '\0' || name[0] == '#')
        return true;
    if (equals != NULL) {
        *equals = '\0';
        name = trim(line);
        for (unsigned i = 0; i < table->count; i++)
            if (strcmp(name, table->options[i].name) == 0)
                return set(options, &table->options[i], trim(equals + 1), where,
                           why, why_size);
    }
    snprintf(why, why_size,
             "%s: %s: expected \"name = value\" with a name that --help "
             "lists, with underscores",
             where, name);
    return false;
}

static bool read_file(const warprsa_option_table *table, void *options,
                      const char *path, char *why, size_t why_size)
{
    FILE *file = fopen(path, "re");
    char line[1024], where[300];
    unsigned number = 0;
    bool ok = true;

    if (file == NULL) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        return false;
    }
    while (ok && fgets(line, sizeof(line), file) != NULL) {
        snprintf(where, sizeof(where), "%s:%u", path, ++number);
        ok = strchr(line, '\n') != NULL || feof(file);
        if (ok)
            ok = set_line(table, options, line, where, why, why_size);
        else
            snprintf(why, why_size,
                     "%s: expected a line of less than %zu bytes", where,
                     sizeof(line) - 1);
    }
    if (ok && ferror(file)) {
        snprintf(why, why_size, "%s: %s", path, strerror(errno));
        ok = false;
    }
    fclose(file);
    return ok;
}

/* An option's name on the command line: dashes for underscores. */
static void dashed(const char *name, char text[NAME_SIZE])
{
    snprintf(text, NAME_SIZE, "%s", name);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
}

static bool read_line(const warprsa_option_table *table, void *options,
                      int argc, char **argv, char *why, size_t why_size)
{
    warprsa_common_options *common = options;
    char names[WARPRSA_OPTIONS_MAX][NAME_SIZE];
    struct option wanted[WARPRSA_OPTIONS_MAX + 3] = {0};
    unsigned count = 0;
    int found;

    for (; count < table->count; count++) {
        dashed(table->options[count].name, names[count]);
        wanted[count] =
            (struct option){names[count], required_argument, NULL, (int)count};
    }
    wanted[count++] = (struct option){"help", no_argument, NULL, HELP};
    wanted[count] = (struct option){"version", no_argument, NULL, VERSION};
    optind = 0;
    while ((found = getopt_long(argc, argv, "", wanted, NULL)) != -1) {
        if (found == HELP)
            common->help = true;
        else if (found == VERSION)
            common->version = true;
        else if (found < 0 || (unsigned)found >= table->count) {
            snprintf(why, why_size, "see %s --help", table->program);
            return false;
        } else if (!set(options, &table->options[found], optarg, "command line",
                        why, why_size))
            return false;
    }
    if (optind < argc) {
        snprintf(why, why_size, "%s: no such argument; see %s --help",
                 argv[optind], table->program);
        return false;
    }
    return true;
}

bool warprsa_option_table_read(const warprsa_option_table *table, void *options,
                               int argc, char **argv, char *why,
                               size_t why_size)
{
    warprsa_common_options *common = options;
    char config[sizeof(common->config)];

    for (unsigned i = 0; i < table->count; i++)
        if (!set(options, &table->options[i], table->options[i].initial,
                 "default", why, why_size))
            return false;
    /* Twice: to find the file, and to take precedence over it. */
    if (!read_line(table, options, argc, argv, why, why_size))
        return false;
    strcpy(config, common->config);
    if (common->help || common->version || config[0] == '\0')
        return true;
    return read_file(table, options, config, why, why_size) &&
           read_line(table, options, argc, argv, why, why_size);
}

void warprsa_option_table_help(const warprsa_option_table *table)
{
    char name[NAME_SIZE];

    printf("Usage: %s [OPTION...]\n%s\n", table->program, table->head);
    for (unsigned i = 0; i < table->count; i++) {
        const warprsa_option *o = &table->options[i];

        dashed(o->name, name);
        printf("  --%-14s %s:\n                   %s", name, o->help,
               o->allowed);
        if (o->initial[0] != '\0')
            printf(" (%s)", o->initial);
        putchar('\n');
    }
    printf("  --help           this text\n"
           "  --version        the version\n"
           "\n"
           "The file of --config has lines \"name = value\", with underscores "
           "for\n"
           "dashes. %s",
           table->foot);
}
