/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asking warprsad. Nothing does yet: each question fails with an error.
 */
#include "provider/reference_use.h"

static void raise_unreachable(const warprsa_context *context,
                              const char *socket, const char *name)
{
    warprsa_raise(&context->core, WARPRSA_R_DAEMON,
                  "key %s: warprsad at %s is not reachable", name, socket);
}

int warprsa_reference_use(warprsa_rsa *ours, const warprsa_key_use *use,
                          const uint8_t *input, uint8_t *output)
{
    (void)use, (void)input, (void)output;
    raise_unreachable(ours->context, ours->reference->socket,
                      ours->reference->name);
    return -1;
}

bool warprsa_reference_lookup(warprsa_context *context, const char *socket,
                              const char *name, warprsa_reference *out)
{
    (void)out;
    raise_unreachable(context, socket, name);
    return false;
}
