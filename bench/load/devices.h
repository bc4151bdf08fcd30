/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Waiting until a subject's devices work, before anything is measured.
 */
#ifndef WARPRSA_LOAD_DEVICES_H
#define WARPRSA_LOAD_DEVICES_H

#include "bench/load/keys.h"
#include "bench/load/subject.h"

/*
 * Devices are opened by the first operations that are routed to them, which
 * takes seconds. Makes operations until options->devices of them work, until
 * there turns out to be none, or for options->devices_seconds; says so on
 * stderr in the last two cases.
 */
void load_devices_wait(const load_options *options, const load_keys *keys,
                       const load_subject *subject);

#endif
