/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The RSA_METHOD of our keys: libcrypto's, with three functions replaced. Here
 * a private operation leaves libcrypto for a device, or stays.
 */
#ifndef WARPRSA_PROVIDER_RSA_METHOD_H
#define WARPRSA_PROVIDER_RSA_METHOD_H

#include <stdbool.h>

#include <openssl/rsa.h>

#include "provider/context.h"

/*
 * Gives a fresh RSA a method of its own and attaches a warprsa_rsa to it
 * (key.h). `type` is the index of its keymgmt. Both are freed with the RSA.
 * False: no memory; the RSA is as it was. One thread.
 */
bool warprsa_rsa_method_attach(warprsa_context *context, unsigned type,
                               RSA *rsa);

#endif
