/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking warprsad which keys there are, and making the token's objects of them.
 */
#ifndef WARPRSA_PKCS11_READING_H
#define WARPRSA_PKCS11_READING_H

#include "pkcs11/library.h"

/*
 * Brings the objects up to date: what the daemon tells after the call has begun
 * is in them. Threads that call meanwhile share one reading. While the daemon
 * is away, or if it has not told all within deadline_ms, the objects stay as
 * they were last read; if they never were, the call tries until then. CKR_OK,
 * or CKR_DEVICE_ERROR: they never were. Any thread.
 */
CK_RV warprsa_reading_update(warprsa_library *library);

#endif
