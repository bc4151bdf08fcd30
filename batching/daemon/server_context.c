/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all threads of the daemon's server share; see server_context.h.
 */
#include "batching/daemon/server_context.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "batching/base/clock.h"

enum {
    LINES_A_SECOND = 500,
};

/* How many descriptors clients may cost: seven eighths of what the process may
 * have. The rest is for control connections, the devices and all else. */
static unsigned descriptors_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_cur > UINT_MAX)
        return UINT_MAX;
    return (unsigned)(limit.rlim_cur - limit.rlim_cur / 8);
}

static bool init_locks(warprsa_server_context *context)
{
    if (pthread_mutex_init(&context->lock, NULL) != 0)
        return false;
    if (pthread_mutex_init(&context->log_lock, NULL) == 0)
        return true;
    pthread_mutex_destroy(&context->lock);
    return false;
}

bool warprsa_server_context_init(warprsa_server_context *context,
                                 const warprsa_server_config *config)
{
    context->config = *config;
    atomic_init(&context->closing, false);
    atomic_init(&context->stopping, false);
    context->descriptors_max = descriptors_max();
    if (!warprsa_user_quota_init(&context->clients))
        return false;
    if (warprsa_user_quota_init(&context->descriptors)) {
        if (init_locks(context))
            return true;
        warprsa_user_quota_free(&context->descriptors);
    }
    warprsa_user_quota_free(&context->clients);
    return false;
}

void warprsa_server_context_free(warprsa_server_context *context)
{
    pthread_mutex_destroy(&context->log_lock);
    pthread_mutex_destroy(&context->lock);
    warprsa_user_quota_free(&context->descriptors);
    warprsa_user_quota_free(&context->clients);
}

void warprsa_server_context_get_limits(warprsa_server_context *context,
                                       warprsa_server_limits *limits)
{
    pthread_mutex_lock(&context->lock);
    *limits = context->config.limits;
    pthread_mutex_unlock(&context->lock);
}

void warprsa_server_context_set_limits(warprsa_server_context *context,
                                       const warprsa_server_limits *limits)
{
    pthread_mutex_lock(&context->lock);
    context->config.limits = *limits;
    pthread_mutex_unlock(&context->lock);
}

/* Whether there is room for one more line now. *left_out: for how many there
 * was none before. */
static bool has_room(warprsa_server_context *context, unsigned *left_out)
{
    uint64_t second = warprsa_clock_ns() / WARPRSA_NS_PER_SEC;
    bool room;

    pthread_mutex_lock(&context->log_lock);
    *left_out = 0;
    if (second != context->log_second) {
        *left_out = context->log_left_out;
        context->log_second = second;
        context->log_lines = context->log_left_out = 0;
    }
    room = context->log_lines < LINES_A_SECOND;
    context->log_lines += room;
    context->log_left_out += !room;
    pthread_mutex_unlock(&context->log_lock);
    return room;
}

void warprsa_server_log(warprsa_server_context *context, int level,
                        const char *format, ...)
{
    unsigned left_out = 0;
    char line[512];
    va_list args;

    if (context->config.log == NULL ||
        (level > 0 && !has_room(context, &left_out)))
        return;
    if (left_out > 0) {
        snprintf(line, sizeof(line), "%u lines about clients were left out",
                 left_out);
        context->config.log(context->config.log_arg, level, line);
    }
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    context->config.log(context->config.log_arg, level, line);
}
