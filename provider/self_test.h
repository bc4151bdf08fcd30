/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The known-answer test at load. This provider rests on two facts that hold in
 * OpenSSL 3.0 to 4.0 but are documented nowhere: the default provider's key
 * data is an RSA, and its private operations call that RSA's RSA_METHOD. The
 * test checks both.
 */
#ifndef WARPRSA_PROVIDER_SELF_TEST_H
#define WARPRSA_PROVIDER_SELF_TEST_H

#include <stdbool.h>

#include "provider/context.h"

/*
 * Imports a fixed key and signs with it, both through context->algorithms, and
 * compares the signature. False, with an error raised: the provider must not
 * be used. Starts no thread, uses no device and counts nothing. One thread, at
 * load, since it decides whether the provider loads. It takes some 60 us and no
 * random number (rsa_method.c).
 */
bool warprsa_self_test(warprsa_context *context);

#endif
