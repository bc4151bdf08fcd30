/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See calibration_file.h.
 */
#include "gpu/select/calibration_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batching/base/config_value.h"
#include "batching/base/own_fd.h"

enum {
    TEXT_MAX = 32768, /* bytes of a file that is read */
    FIELDS = 6,
};

static const char title[] = "# warprsa: what batches took on a device, in "
                            "microseconds. May be removed.\n";

/* Reads an open file. False: *what says why; it is NULL where errno does. */
static bool read_descriptor(int fd, char text[TEXT_MAX + 1], const char **what)
{
    struct stat status;
    size_t length = 0;
    ssize_t got = 0;

    *what = NULL;
    if (fstat(fd, &status) != 0)
        return false;
    if (!S_ISREG(status.st_mode))
        *what = "not a regular file";
    else if (status.st_uid != geteuid() && status.st_uid != 0)
        *what = "belongs to another user";
    else if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        *what = "can be written by others than its owner";
    if (*what != NULL)
        return false;
    while (length <= TEXT_MAX &&
           (got = read(fd, text + length, TEXT_MAX + 1 - length)) > 0)
        length += (size_t)got;
    if (got < 0)
        return false;
    if (length > TEXT_MAX)
        *what = "too long";
    else
        text[length] = '\0';
    if (*what == NULL && strlen(text) != length)
        *what = "not a text";
    return *what == NULL;
}

/* Reads the file's text. False: *what says why; it is NULL where errno does,
 * which is ENOENT if there is no file. */
static bool read_text(const char *path, char text[TEXT_MAX + 1],
                      const char **what)
{
    /* O_NONBLOCK: to open a pipe that nobody writes to would block. */
    const int fd =
        open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool ok;
    int error;

    *what = NULL;
    if (fd < 0)
        return false;
    ok = read_descriptor(fd, text, what);
    error = errno;
    close(fd);
    errno = error;
    if (ok && text[0] != '\0' && strncmp(text, title, sizeof(title) - 1) != 0)
        *what = "not a calibration file";
    return ok && *what == NULL;
}

static void explain(char *why, size_t why_size, const char *path,
                    const char *what)
{
    snprintf(why, why_size, "%s: %s", path,
             what != NULL ? what : strerror(errno));
}

/* The candidate of this class whose kernel has this name, or NULL. */
static const warprsa_kernel_timing *
candidate_named(const warprsa_kernel_timings *candidates,
                warprsa_size_class size, const char *name)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (candidates->row[i].size == size &&
            strcmp(candidates->row[i].kernel->name, name) == 0)
            return &candidates->row[i];
    return NULL;
}

static bool parse_number(const char *text, uint32_t *value)
{
    return warprsa_config_number(text, 0, UINT32_MAX, value);
}

/* Parses a row, which must be of a candidate. `line` is cut into its fields. */
static bool parse_row(char *line, const warprsa_kernel_timings *candidates,
                      warprsa_kernel_timing *timing)
{
    char *field[FIELDS + 1] = {NULL}, *rest = line;
    const warprsa_kernel_timing *candidate;
    warprsa_size_class size = WARPRSA_CLASS_1024;
    uint32_t bits = 0;
    int count = 0;

    while (count <= FIELDS && rest != NULL)
        field[count++] = strsep(&rest, " ");
    if (count != FIELDS || !parse_number(field[0], &bits))
        return false;
    while (size < WARPRSA_CLASSES && warprsa_class_bits(size) != bits)
        size++;
    if (size == WARPRSA_CLASSES)
        return false;
    candidate = candidate_named(candidates, size, field[1]);
    if (candidate == NULL)
        return false;
    *timing = *candidate;
    return parse_number(field[2], &timing->wave) &&
           parse_number(field[3], &timing->one_us) &&
           parse_number(field[4], &timing->half_us) &&
           parse_number(field[5], &timing->wave_us);
}

/* Whether a line is the heading of this subject; if `device` is set, whether it
 * is a heading of the subject's device. */
static bool is_heading(const char *line, const char *subject, bool device)
{
    const size_t length = device ? strcspn(subject, ",") : strlen(subject);

    return line[0] == '[' && strncmp(line + 1, subject, length) == 0 &&
           (device ? line[1 + length] == ',' || line[1 + length] == ']'
                   : strcmp(line + 1 + length, "]") == 0);
}

/* Reads the rows of the subject. Returns the number of the first bad line, or
 * 0. */
static unsigned parse(char *text, const char *subject,
                      const warprsa_kernel_timings *candidates,
                      warprsa_kernel_timings *timings)
{
    char *rest = text;
    bool own = false;

    for (unsigned number = 1; rest != NULL && *rest != '\0'; number++) {
        char *line = strsep(&rest, "\n");
        warprsa_kernel_timing timing;

        if (rest == NULL) /* cut off */
            return number;
        if (line[0] == '#')
            continue;
        if (line[0] == '[') {
            own = is_heading(line, subject, false);
            continue;
        }
        if (!own)
            continue;
        if (timings->count == WARPRSA_KERNEL_TIMINGS_MAX ||
            !parse_row(line, candidates, &timing) ||
            warprsa_kernel_timing_of(timings, timing.size, timing.kernel) !=
                NULL)
            return number;
        timings->row[timings->count++] = timing;
    }
    return 0;
}

warprsa_calibration_found
warprsa_calibration_read(const char *path, const char *subject,
                         const warprsa_kernel_timings *candidates,
                         size_t batch_max, warprsa_kernel_timings *timings,
                         char *why, size_t why_size)
{
    char *text = malloc(TEXT_MAX + 1);
    const char *what = "no memory";
    warprsa_calibration_found found = WARPRSA_CALIBRATION_BAD;

    timings->count = 0;
    if (text == NULL || !read_text(path, text, &what)) {
        if (what == NULL && errno == ENOENT)
            found = WARPRSA_CALIBRATION_NONE;
        else
            explain(why, why_size, path, what);
    } else {
        const unsigned line = parse(text, subject, candidates, timings);

        if (line != 0)
            snprintf(why, why_size, "%s:%u: damaged", path, line);
        else if (timings->count == 0)
            found = WARPRSA_CALIBRATION_NONE;
        else if (!warprsa_kernel_timings_fit(timings, candidates, batch_max))
            explain(why, why_size, path, "times that cannot be");
        else
            found = WARPRSA_CALIBRATION_FOUND;
    }
    free(text);
    if (found != WARPRSA_CALIBRATION_FOUND)
        timings->count = 0;
    return found;
}

/* Copies what the old text has of other devices, without a last line that is
 * cut off. */
static void put_others(FILE *file, char *old, const char *subject)
{
    char *rest = strchr(old, '\n');
    bool others = false;

    rest = rest != NULL ? rest + 1 : NULL;
    while (rest != NULL && *rest != '\0') {
        char *line = strsep(&rest, "\n");

        if (line[0] == '[')
            others = !is_heading(line, subject, true);
        if (others && rest != NULL)
            fprintf(file, "%s\n", line);
    }
}

/* The new text, which the caller frees; NULL: no memory. The old text is left
 * out if it is too long. */
static char *new_text(char *old, const char *subject,
                      const warprsa_kernel_timings *timings, size_t *length)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, length);
    bool ok;

    if (file == NULL)
        return NULL;
    fprintf(file, "%s[%s]\n", title, subject);
    for (size_t i = 0; i < timings->count; i++) {
        const warprsa_kernel_timing *timing = &timings->row[i];

        fprintf(file, "%u %s %u %u %u %u\n", warprsa_class_bits(timing->size),
                timing->kernel->name, timing->wave, timing->one_us,
                timing->half_us, timing->wave_us);
    }
    if (strlen(old) < TEXT_MAX / 2)
        put_others(file, old, subject);
    ok = !ferror(file);
    ok = fclose(file) == 0 && ok;
    if (!ok) {
        free(text);
        text = NULL;
    }
    return text;
}

static bool write_descriptor(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(fd, text, length);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        text += written;
        length -= (size_t)written;
    }
    return fsync(fd) == 0;
}

/* Writes a new file in the same directory and renames it. False: errno says
 * why. */
static bool replace(const char *path, const char *text, size_t length)
{
    char temporary[PATH_MAX];
    int fd, error;
    bool ok;

    if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >=
        (int)sizeof(temporary)) {
        errno = ENAMETOOLONG;
        return false;
    }
    fd = warprsa_fd_above_stdio(mkostemp(temporary, O_CLOEXEC)); /* 0600 */
    if (fd < 0)
        return false;
    ok = write_descriptor(fd, text, length);
    ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary, path) == 0;
    if (!ok) {
        error = errno;
        unlink(temporary);
        errno = error;
    }
    return ok;
}

bool warprsa_calibration_write(const char *path, const char *subject,
                               const warprsa_kernel_timings *timings, char *why,
                               size_t why_size)
{
    char *old = malloc(TEXT_MAX + 1), *text = NULL;
    const char *what = "no memory";
    size_t length = 0;
    bool ok = false;

    if (old != NULL) {
        ok = read_text(path, old, &what);
        if (!ok && what == NULL && errno == ENOENT) {
            old[0] = '\0';
            ok = true;
        }
    }
    if (ok) {
        text = new_text(old, subject, timings, &length);
        what = text == NULL ? "no memory" : NULL;
        ok = text != NULL && replace(path, text, length);
    }
    if (!ok)
        explain(why, why_size, path, what);
    free(text);
    free(old);
    return ok;
}
