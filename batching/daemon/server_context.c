/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What all threads of the daemon's server share; see server_context.h.
 */
#include "batching/daemon/server_context.h"

#include <stdarg.h>
#include <stdio.h>

bool warprsa_server_context_init(warprsa_server_context *context,
                                 const warprsa_server_config *config)
{
    context->config = *config;
    atomic_init(&context->closing, false);
    atomic_init(&context->stopping, false);
    if (!warprsa_user_quota_init(&context->clients))
        return false;
    if (pthread_mutex_init(&context->lock, NULL) == 0)
        return true;
    warprsa_user_quota_free(&context->clients);
    return false;
}

void warprsa_server_context_free(warprsa_server_context *context)
{
    pthread_mutex_destroy(&context->lock);
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

void warprsa_server_log(const warprsa_server_context *context, int level,
                        const char *format, ...)
{
    char line[512];
    va_list args;

    if (context->config.log == NULL)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    context->config.log(context->config.log_arg, level, line);
}
