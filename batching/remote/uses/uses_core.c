/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of the uses share; see uses_core.h.
 */
#include "batching/remote/uses/uses_core.h"

#include <stdarg.h>
#include <stdio.h>

void warprsa_uses_say(const warprsa_uses_core *core, int level,
                      const char *format, ...)
{
    char line[800];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    core->config.daemon.log(core->config.daemon.log_arg, level, line);
}

void warprsa_uses_insert(warprsa_uses_core *core, warprsa_remote_use *use)
{
    warprsa_remote_use *after = NULL;

    /* New ones have the latest deadline. */
    if (TAILQ_EMPTY(&core->all) ||
        TAILQ_LAST(&core->all, warprsa_remote_use_list)->deadline_ns <=
            use->deadline_ns) {
        TAILQ_INSERT_TAIL(&core->all, use, all);
        return;
    }
    after = TAILQ_FIRST(&core->all);
    while (after->deadline_ns < use->deadline_ns)
        after = TAILQ_NEXT(after, all);
    TAILQ_INSERT_BEFORE(after, use, all);
}

void warprsa_uses_forget(warprsa_remote_use *use)
{
    use->key->uses--;
    warprsa_remote_use_free(use);
}
