/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * SIGNATURE: a function for each that OpenSSL 3.0 to 4.0 has. They call the
 * default provider in our own library context, so hashing and padding are
 * libcrypto's, and the private operation comes back to our RSA_METHOD.
 */
#ifndef WARPRSA_PROVIDER_SIGNATURE_H
#define WARPRSA_PROVIDER_SIGNATURE_H

#include "provider/algorithms.h"

/*
 * Reads the functions of `table`, one signature of the default provider, into
 * algorithms->signatures[index]. Returns a table with ours in their place,
 * which the caller frees by OPENSSL_free(). NULL: no memory. One thread, at
 * load.
 */
OSSL_DISPATCH *warprsa_signature_wrap(warprsa_algorithms *algorithms,
                                      unsigned index,
                                      const OSSL_DISPATCH *table);

#endif
