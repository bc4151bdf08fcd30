/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What this provider asks of warprsad for references: a use of a key, and the
 * reference that belongs to a name.
 */
#ifndef WARPRSA_PROVIDER_REFERENCE_USE_H
#define WARPRSA_PROVIDER_REFERENCE_USE_H

#include "batching/vault/wire/key_use.h"
#include "batching/vault/wire/reference.h"
#include "provider/key.h"

/*
 * Has warprsad use the key of a reference. `use` has no fault (key_use.h);
 * `input` is of use->input_bytes, and `output` has room for as many bytes as
 * the modulus has. An async job may pause in it. Returns how many bytes the
 * answer has; -1: an error has been raised, libcrypto's own where libcrypto
 * refused in the vault. Any thread.
 */
int warprsa_reference_use(warprsa_rsa *ours, const warprsa_key_use *use,
                          const uint8_t *input, uint8_t *output);

/* Asks the warprsad at `socket` for the reference of the key `name`. False: an
 * error has been raised. Any thread. */
bool warprsa_reference_lookup(warprsa_context *context, const char *socket,
                              const char *name, warprsa_reference *out);

#endif
