/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WARPRSA_LOAD_DEVICES_H
#define WARPRSA_LOAD_DEVICES_H

#include "keys.h"
#include "subject.h"

/*
 * Devices are opened by the first operations that are for them, and take
 * seconds. Makes operations until so many are at work, none can be had, or the
 * time is over; says so on stderr in the last two cases.
 */
void load_devices_wait(const load_options *options, const load_keys *keys,
                       const load_subject *subject);

#endif
