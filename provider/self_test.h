/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The known-answer test at load. That default's key data is an RSA, and that
 * its private operations reach a hooked RSA_METHOD, is so in OpenSSL 3.0 to
 * 3.6 but written nowhere.
 */
#ifndef WARPRSA_SELF_TEST_H
#define WARPRSA_SELF_TEST_H

#include <stdbool.h>

struct warprsa_context;

/* Imports a fixed key, signs with it, both through the wrapped tables, and
 * compares. False after raising an error: the provider must not be used. No
 * thread, no device, no counter. */
bool warprsa_self_test(struct warprsa_context *context);

#endif
