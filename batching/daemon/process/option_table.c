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

enum {
    NAME_SIZE = 32,
    HELP = WARPRSA_OPTIONS_MAX,
    VERSION,
};

static bool set(void *options, const warprsa_parameter *option,
                const char *text, const char *where, char *why, size_t why_size)
{
    char expected[192];

    if (warprsa_parameter_set(option, text, options, expected,
                              sizeof(expected)))
        return true;
    snprintf(why, why_size, "%s: %s = %s: %s", where, option->name, text,
             expected);
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

static bool is_complete(const warprsa_option_table *table, const void *options,
                        char *why, size_t why_size)
{
    char allowed[160];

    for (unsigned i = 0; i < table->count; i++) {
        const warprsa_parameter *o = &table->options[i];

        if (o->type != &warprsa_required_path ||
            ((const char *)options)[o->offset] != '\0')
            continue;
        o->type->allowed(o, allowed, sizeof(allowed));
        snprintf(why, why_size, "%s is not set: expected %s", o->name, allowed);
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
    if (common->help || common->version)
        return true;
    if (config[0] != '\0' &&
        (!read_file(table, options, config, why, why_size) ||
         !read_line(table, options, argc, argv, why, why_size)))
        return false;
    return is_complete(table, options, why, why_size);
}

void warprsa_option_table_help(const warprsa_option_table *table)
{
    char name[NAME_SIZE], allowed[160];

    printf("Usage: %s [OPTION...]\n%s\n", table->program, table->head);
    for (unsigned i = 0; i < table->count; i++) {
        const warprsa_parameter *o = &table->options[i];

        o->type->allowed(o, allowed, sizeof(allowed));
        dashed(o->name, name);
        printf("  --%-14s %s:\n                   %s", name, o->help, allowed);
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
