/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Opening the trace's file, and writing lines that other threads and processes
 * don't tear apart.
 */
#include "provider/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "batching/base/quiet.h"

enum {
    LEVEL_MIN = 1,
    LEVEL_MAX = 2,
    LINE_MAX_BYTES = 1000,
};

/* Splits "WHERE[,level:N]". False: N is no level or WHERE is too long. */
static bool split(const char *text, char where[PATH_MAX], int *level)
{
    static const char tag[] = ",level:";
    const char *comma = strrchr(text, ',');
    size_t length = strlen(text);

    *level = LEVEL_MIN;
    if (comma != NULL && strncmp(comma, tag, sizeof(tag) - 1) == 0) {
        const char *digit = comma + sizeof(tag) - 1;

        if (digit[0] < '0' + LEVEL_MIN || digit[0] > '0' + LEVEL_MAX ||
            digit[1] != '\0')
            return false;
        *level = digit[0] - '0';
        length = (size_t)(comma - text);
    }
    if (length >= PATH_MAX)
        return false;
    memcpy(where, text, length);
    where[length] = '\0';
    return true;
}

static bool open_file(warprsa_trace *trace, const char *path, char *why,
                      size_t why_size)
{
    if (!warprsa_own_fd_take(
            &trace->file,
            open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
                 0600))) {
        snprintf(why, why_size, "cannot open %s: %s", path, strerror(errno));
        return false;
    }
    trace->fd = trace->file.fd;
    return true;
}

bool warprsa_trace_open(warprsa_trace *trace, const char *text, char *why,
                        size_t why_size)
{
    char where[PATH_MAX];
    int level;

    *trace = WARPRSA_NO_TRACE;
    if (strcmp(text, "none") == 0)
        return true;
    if (!split(text, where, &level)) {
        snprintf(why, why_size, "expected %s", WARPRSA_TRACE_ALLOWED);
        return false;
    }
    trace->level = level;
    if (strcmp(where, "stderr") == 0) {
        /* If standard error is closed, the next file that the program opens
         * will have its number. */
        if (fcntl(STDERR_FILENO, F_GETFD) >= 0)
            trace->fd = STDERR_FILENO;
        return true;
    }
    if (strncmp(where, "file:", 5) == 0 && where[5] != '\0')
        return open_file(trace, where + 5, why, why_size);
    snprintf(why, why_size, "expected %s", WARPRSA_TRACE_ALLOWED);
    return false;
}

void warprsa_trace_close(warprsa_trace *trace)
{
    warprsa_own_fd_close(&trace->file);
    *trace = WARPRSA_NO_TRACE;
}

static void write_line(int fd, const char *line)
{
    char head[40];
    int length = snprintf(head, sizeof(head), "warprsa[%ld] ", (long)getpid());
    const struct iovec parts[] = {
        {head, (size_t)length},
        {(char *)line, strlen(line)},
        {"\n", 1},
    };
    const warprsa_quiet quiet = warprsa_quiet_begin();

    /* A line that is lost can't be reported anywhere. */
    (void)!writev(fd, parts, 3);
    warprsa_quiet_end(&quiet);
}

void warprsa_trace_line(void *arg, int level, const char *line)
{
    const warprsa_trace *trace = arg;
    int saved = errno;

    if (trace->fd >= 0 && level <= trace->level &&
        (trace->file.fd < 0 || warprsa_own_fd_is_there(&trace->file)))
        write_line(trace->fd, line);
    errno = saved;
}

void warprsa_trace_printf(warprsa_trace *trace, int level, const char *format,
                          ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;

    if (trace->fd < 0 || level > trace->level)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    warprsa_trace_line(trace, level, line);
}
