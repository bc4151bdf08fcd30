/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPRSA_LOAD_DEVICES_H
#define WARPRSA_LOAD_DEVICES_H

#include "keys.h"
#include "subject.h"

/*
 * Devices are opened by the first operation that asks for one, and take
 * seconds. Makes operations in one async job after another until so many are
 * at work, none can be had, or the time is over; says so on stderr in the last
 * two cases.
 */
void load_devices_wait(const load_options *options, const load_keys *keys,
                       const load_subject *subject);

#endif
