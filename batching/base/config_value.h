/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Values of configurations: numbers, words and lists of devices, as text. Each
 * parser fills `value`, and returns false for a text that is not allowed. Any
 * thread.
 */
#ifndef WARPRSA_BATCHING_BASE_CONFIG_VALUE_H
#define WARPRSA_BATCHING_BASE_CONFIG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

/* Digits alone, at most nine of them: a number from min to max. */
bool warprsa_config_number(const char *text, unsigned min, unsigned max,
                           unsigned *value);

/* As warprsa_config_number(), or "auto", which stands for the number
 * `automatic`. */
bool warprsa_config_number_or_auto(const char *text, unsigned min, unsigned max,
                                   unsigned automatic, unsigned *value);

/* "all", which sets every bit, or numbers from 0 to `max`, at most 31, with
 * commas between them. Bit i of the value stands for number i. */
bool warprsa_config_devices(const char *text, unsigned max, uint32_t *value);

#endif
