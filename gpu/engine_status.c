/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text for each warprsa_status.
 */
#include "gpu/engine.h"

const char *warprsa_status_text(warprsa_status status)
{
    switch (status) {
    case WARPRSA_OK:
        return "ok";
    case WARPRSA_CHECK_FAILED:
        return "a result failed its check";
    case WARPRSA_DEADLINE:
        return "not finished in time";
    case WARPRSA_DEVICE_ERROR:
        return "device error";
    case WARPRSA_NO_DEVICE:
        return "no device";
    case WARPRSA_NO_MEMORY:
        return "no memory";
    case WARPRSA_NO_RANDOM:
        return "no randomness for blinding";
    case WARPRSA_UNSUPPORTED_KEY:
        return "a key of this shape is not supported";
    case WARPRSA_LARGE_KEYS_FULL:
        return "no room for another key of this length";
    }
    return "unknown status";
}
