/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The parser of vector files in both formats.
 */
#include "tests/unit/support/vector_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NAME_MAX_LENGTH = 64,
    VALUE_MAX_LENGTH = 16384
};

typedef struct reader {
    vector_field_fn *field;
    void *arg;
    char name[NAME_MAX_LENGTH]; /* "": no field open */
    char value[VALUE_MAX_LENGTH];
} reader;

const char *vector_directory(void)
{
    static const char *const installed =
        "/usr/lib/python3/dist-packages/cryptography_vectors/asymmetric/RSA";
    return access(installed, R_OK | X_OK) == 0 ? installed : NULL;
}

/* Appends a text without its white space, cut to what fits. */
static void append(char *to, size_t size, const char *from)
{
    size_t len = strlen(to);
    for (; *from != '\0' && len + 1 < size; from++)
        if (!isspace((unsigned char)*from))
            to[len++] = *from;
    to[len] = '\0';
}

static void finish_field(reader *r)
{
    if (r->name[0] != '\0')
        r->field(r->arg, r->name, r->value);
    r->name[0] = '\0';
    r->value[0] = '\0';
}

static void read_line(reader *r, char *line)
{
    char *end = line + strlen(line);
    while (end > line && isspace((unsigned char)end[-1]))
        *--end = '\0';
    char *equals = strstr(line, " =");
    if (line[0] == '\0' || line[0] == '#' || equals != NULL)
        finish_field(r);
    if (line[0] == '#' && end > line + 2 && end[-1] == ':') {
        end[-1] = '\0';
        snprintf(r->name, sizeof(r->name), "%.*s", NAME_MAX_LENGTH - 1,
                 line + 2);
    } else if (line[0] != '#' && line[0] != '[' && equals != NULL) {
        *equals = '\0';
        snprintf(r->name, sizeof(r->name), "%.*s", NAME_MAX_LENGTH - 1, line);
        append(r->value, sizeof(r->value), equals + 2);
        finish_field(r);
    } else if (line[0] != '#' && r->name[0] != '\0') {
        append(r->value, sizeof(r->value), line);
    }
}

int vector_file_read(const char *name, vector_field_fn *field, void *arg)
{
    static reader r;
    static char line[VALUE_MAX_LENGTH];
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", vector_directory(), name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    memset(&r, 0, sizeof(r));
    r.field = field;
    r.arg = arg;
    while (fgets(line, sizeof(line), file) != NULL)
        read_line(&r, line);
    finish_field(&r);
    const int good = !ferror(file);
    fclose(file);
    return good;
}
