/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of the uses share; see uses_core.h.
 */
#include "batching/remote/uses/uses_core.h"

#include <stdarg.h>
#include <stdio.h>

#include "batching/base/clock.h"

enum {
    LINE_SIZE = 800,
};

static void write_line(const warprsa_uses_core *core, int level,
                       const char *line)
{
    core->config.daemon.log(core->config.daemon.log_arg, level, line);
}

void warprsa_uses_say(const warprsa_uses_core *core, int level,
                      const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    write_line(core, level, line);
}

void warprsa_uses_say_about(warprsa_uses_core *core, unsigned place, int level,
                            const char *format, ...)
{
    char line[LINE_SIZE];
    va_list args;

    if (!warprsa_log_budget_take(&core->host_budgets[place],
                                 WARPRSA_LOG_LINES_A_SECOND,
                                 warprsa_clock_ns()))
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    write_line(core, level, line);
}

void warprsa_uses_say_left_out(warprsa_uses_core *core)
{
    const uint64_t now_ns = warprsa_clock_ns();
    uint64_t owner = 0, lines = 0;

    while (warprsa_log_budgets_left_out(&core->budgets, now_ns, &owner, &lines))
        warprsa_uses_say(core, 0,
                         "%llu denials of one user by GPU hosts were not "
                         "logged",
                         (unsigned long long)lines);
    for (unsigned i = 0; i < WARPRSA_REMOTE_HOSTS_MAX; i++) {
        lines = warprsa_log_budget_left_out(&core->host_budgets[i], now_ns);
        if (lines > 0)
            warprsa_uses_say(core, 0,
                             "%llu lines about one GPU host were left out",
                             (unsigned long long)lines);
    }
}

uint64_t warprsa_uses_patience_ns(const warprsa_uses_core *core)
{
    return core->config.daemon.deadline_ms * WARPRSA_NS_PER_MS /
           WARPRSA_USES_PATIENCE;
}

void warprsa_uses_forget(warprsa_remote_use *use)
{
    use->key->uses--;
    warprsa_remote_use_free(use);
}
