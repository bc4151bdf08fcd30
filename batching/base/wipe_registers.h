/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What memcpy() and memcmp() leave behind: the C library moves bytes through
 * vector registers and does not clear them. There they stay, in a core dump
 * too, until something else needs the registers, which a thread that sleeps
 * does not.
 */
#ifndef WARPRSA_BATCHING_BASE_WIPE_REGISTERS_H
#define WARPRSA_BATCHING_BASE_WIPE_REGISTERS_H

/* Zeroes the calling thread's vector registers, on x86-64; elsewhere it does
 * nothing. Any thread. */
void warprsa_wipe_registers(void);

#endif
