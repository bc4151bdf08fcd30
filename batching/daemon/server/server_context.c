/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all threads of the daemon's server share; see server_context.h.
 */
#include "batching/daemon/server/server_context.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "batching/base/clock.h"

enum {
    LINE_SIZE = 512,
};

#define SUBUIDS "/etc/subuid"

/* How many descriptors clients may cost: seven eighths of the process's limit.
 * The rest is for control connections, devices and everything else. */
static unsigned descriptors_max(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_cur > UINT_MAX)
        return UINT_MAX;
    return (unsigned)(limit.rlim_cur - limit.rlim_cur / 8);
}

static void free_quotas(warprsa_server_context *context)
{
    warprsa_user_quota_free(&context->descriptors);
    warprsa_user_quota_free(&context->network_clients);
    warprsa_user_quota_free(&context->clients);
}

/* On Linux a mutex can always be made. */
static bool init_quotas(warprsa_server_context *context)
{
    return warprsa_user_quota_init(&context->clients) &&
           warprsa_user_quota_init(&context->network_clients) &&
           warprsa_user_quota_init(&context->descriptors);
}

static bool init_locks(warprsa_server_context *context)
{
    return pthread_mutex_init(&context->lock, NULL) == 0 &&
           pthread_mutex_init(&context->subuids_lock, NULL) == 0 &&
           warprsa_log_budgets_init(&context->log, context->config.log_lines);
}

bool warprsa_server_context_init(warprsa_server_context *context,
                                 const warprsa_server_config *config)
{
    context->config = *config;
    atomic_init(&context->closing, false);
    atomic_init(&context->stopping, false);
    context->descriptors_max = descriptors_max();
    if (!init_quotas(context) || !init_locks(context))
        return false;
    warprsa_server_context_read_subuids(context);
    return true;
}

void warprsa_server_context_free(warprsa_server_context *context)
{
    warprsa_subuids_free(&context->subuids);
    warprsa_log_budgets_free(&context->log);
    pthread_mutex_destroy(&context->subuids_lock);
    pthread_mutex_destroy(&context->lock);
    free_quotas(context);
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

uid_t warprsa_server_user(warprsa_server_context *context, uid_t uid)
{
    uid_t owner;

    pthread_mutex_lock(&context->subuids_lock);
    owner = warprsa_subuids_owner(&context->subuids, uid);
    pthread_mutex_unlock(&context->subuids_lock);
    return owner;
}

void warprsa_server_context_read_subuids(warprsa_server_context *context)
{
    struct timespec *changed = &context->subuids_changed;
    warprsa_subuids fresh = {0}, old;
    struct stat file = {0};

    (void)stat(SUBUIDS, &file);
    if (file.st_mtim.tv_sec == changed->tv_sec &&
        file.st_mtim.tv_nsec == changed->tv_nsec)
        return;
    *changed = file.st_mtim;
    if (!warprsa_subuids_read(&fresh, SUBUIDS))
        return;
    pthread_mutex_lock(&context->subuids_lock);
    old = context->subuids;
    context->subuids = fresh;
    pthread_mutex_unlock(&context->subuids_lock);
    warprsa_subuids_free(&old);
}

static void write_line(const warprsa_server_context *context, int level,
                       const char *line)
{
    if (context->config.log != NULL)
        context->config.log(context->config.log_arg, level, line);
}

void warprsa_server_log(warprsa_server_context *context, const char *line)
{
    write_line(context, 0, line);
}

static void name_owner(uint64_t owner, char *text, size_t size)
{
    if (owner == WARPRSA_LOG_OTHER_USERS)
        snprintf(text, size, "other users");
    else if (owner == WARPRSA_LOG_OTHER_IDENTITIES)
        snprintf(text, size, "other hosts of the network");
    else if (owner <= UINT32_MAX)
        snprintf(text, size, "user %u", (unsigned)owner);
    else
        snprintf(text, size, "one host of the network");
}

void warprsa_server_log_left_out(warprsa_server_context *context)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t owner, lines;
    char line[LINE_SIZE], name[32];

    while (
        warprsa_log_budgets_left_out(&context->log, now_ns, &owner, &lines)) {
        name_owner(owner, name, sizeof(name));
        snprintf(line, sizeof(line), "%llu lines about %s were left out",
                 (unsigned long long)lines, name);
        write_line(context, 1, line);
    }
}

/* A name from the gateway must not become a line of its own. */
static void clean(char *line)
{
    for (; *line != '\0'; line++)
        if ((unsigned char)*line < ' ' || *line == 127)
            *line = '?';
}

void warprsa_server_log_about(warprsa_server_context *context, uint64_t owner,
                              int level, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;

    if (level > context->config.log_level)
        return;
    warprsa_server_log_left_out(context);
    if (!warprsa_log_budgets_take(&context->log, owner, warprsa_clock_ns()))
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    clean(line);
    write_line(context, level, line);
}
