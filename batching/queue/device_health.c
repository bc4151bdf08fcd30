/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Whether a device computes right: see device_health.h.
 */
#include "batching/queue/device_health.h"

#include "batching/base/clock.h"

#define WINDOW_NS (10 * WARPRSA_NS_PER_SEC)
#define FIRST_NS  (1 * WARPRSA_NS_PER_SEC)
#define MAX_NS    (64 * WARPRSA_NS_PER_SEC)
/* How far looking at results may run ahead of its budget: a tenth of this is
 * time of a CPU. */
#define ADVANCE_NS (1 * WARPRSA_NS_PER_SEC)

enum {
    /* Looking at results may take one part in so many of a CPU's time. */
    JUDGING_PART = 10,
    FORGOTTEN = 8, /* pauses in use */
};

bool warprsa_device_health_judge(warprsa_device_health *health, uint64_t now_ns)
{
    if (health->is_judging || now_ns + ADVANCE_NS < health->judge_ns)
        return false;
    health->is_judging = true;
    return true;
}

void warprsa_device_health_judged(warprsa_device_health *health,
                                  uint64_t used_ns, uint64_t now_ns)
{
    health->is_judging = false;
    if (health->judge_ns < now_ns)
        health->judge_ns = now_ns;
    health->judge_ns += JUDGING_PART * used_ns;
}

/* Begins the next pause. */
static void pause(warprsa_device_health *health, uint64_t now_ns)
{
    const bool is_forgotten =
        health->back_ns != 0 &&
        now_ns - health->back_ns >= FORGOTTEN * health->pause_ns;

    if (health->pause_ns == 0 || is_forgotten)
        health->pause_ns = FIRST_NS;
    else if (health->pause_ns < MAX_NS)
        health->pause_ns *= 2;
    health->until_ns = now_ns + health->pause_ns;
    health->back_ns = 0;
}

bool warprsa_device_health_wrong(warprsa_device_health *health,
                                 warprsa_size_class size, uint64_t now_ns)
{
    const unsigned at = health->wrong++ % WARPRSA_HEALTH_WRONG_MAX;
    uint64_t oldest_ns;

    health->wrong_ns[at] = now_ns;
    health->classes |= 1u << size;
    if (health->wrong < WARPRSA_HEALTH_WRONG_MAX)
        return false;
    oldest_ns = health->wrong_ns[(at + 1) % WARPRSA_HEALTH_WRONG_MAX];
    if (now_ns - oldest_ns > WINDOW_NS)
        return false;
    pause(health, now_ns);
    return true;
}

void warprsa_device_health_failed_test(warprsa_device_health *health,
                                       uint64_t now_ns)
{
    pause(health, now_ns);
}

void warprsa_device_health_in_use(warprsa_device_health *health,
                                  uint64_t now_ns)
{
    health->wrong = 0;
    health->classes = 0;
    if (health->pause_ns != 0 && health->back_ns == 0)
        health->back_ns = now_ns;
}
