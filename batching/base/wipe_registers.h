/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Wiping what memcpy() and memcmp() leave behind. The C library moves bytes
 * through vector registers and does not clear them. The bytes stay there, in a
 * core dump too, until other code needs the registers; a sleeping thread needs
 * none.
 */
#ifndef WARPRSA_BATCHING_BASE_WIPE_REGISTERS_H
#define WARPRSA_BATCHING_BASE_WIPE_REGISTERS_H

/* Zeroes the calling thread's vector registers, on x86-64; elsewhere it does
 * nothing. Any thread. */
void warprsa_wipe_registers(void);

#endif
