/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * OSSL_OP_DECODER: key references in PEM and DER become keys of our keymgmt, so
 * that a program can load a reference where it expects a private key.
 */
#ifndef WARPRSA_PROVIDER_DECODER_H
#define WARPRSA_PROVIDER_DECODER_H

#include <openssl/core.h>

/* The structure that libcrypto hands from the decoder of PEM, or from our
 * store, to the decoder of DER. */
#define WARPRSA_REFERENCE_STRUCTURE "WarprsaKeyReference"

/* What query_operation() returns. */
extern const OSSL_ALGORITHM warprsa_decoders[];

#endif
