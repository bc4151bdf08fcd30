/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where libcrypto's private operation becomes ours: the functions that take
 * the place of its own in an RSA_METHOD.
 */
#ifndef WARPRSA_PROVIDER_RSA_METHOD_H
#define WARPRSA_PROVIDER_RSA_METHOD_H

#include <openssl/rsa.h>

/* Puts the hooks into a copy of libcrypto's method whose application data is
 * a warprsa_rsa. 1, or 0 if libcrypto refuses one of them. */
int warprsa_rsa_method_set(RSA_METHOD *method);

#endif
