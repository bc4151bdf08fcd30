/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs that are left out: the provider loads there but offers nothing, so
 * the default provider serves as if it were alone.
 */
#ifndef WARPRSA_PROVIDER_LEFT_OUT_H
#define WARPRSA_PROVIDER_LEFT_OUT_H

#include "provider/config.h"

/*
 * Why this program is left out, or NULL: by the environment variable
 * WARPRSA_DISABLE, which is ignored in set-user-ID programs, or by the lists of
 * patterns against the path that /proc/self/exe names. programs_deny goes
 * before programs_allow. A program whose path can't be had matches no pattern.
 * The text is a constant. One thread, at load.
 */
const char *warprsa_left_out(const warprsa_config *config);

#endif
