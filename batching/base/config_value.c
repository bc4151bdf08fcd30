/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Values of configurations: see config_value.h.
 */
#include "batching/base/config_value.h"

#include <stdlib.h>
#include <string.h>

bool warprsa_config_number(const char *text, unsigned min, unsigned max,
                           unsigned *value)
{
    /* Nine digits fit. */
    if (text[0] == '\0' || strlen(text) > 9 ||
        strspn(text, "0123456789") != strlen(text))
        return false;
    *value = (unsigned)strtoul(text, NULL, 10);
    return *value >= min && *value <= max;
}

bool warprsa_config_number_or_auto(const char *text, unsigned min, unsigned max,
                                   unsigned automatic, unsigned *value)
{
    if (strcmp(text, "auto") != 0)
        return warprsa_config_number(text, min, max, value);
    *value = automatic;
    return true;
}

bool warprsa_config_devices(const char *text, unsigned max, uint32_t *value)
{
    *value = UINT32_MAX;
    if (strcmp(text, "all") == 0)
        return true;
    *value = 0;
    for (;;) {
        const size_t digits = strspn(text, "0123456789");
        unsigned long number;

        if (digits == 0 || digits > 2)
            return false;
        number = strtoul(text, NULL, 10);
        if (number > max)
            return false;
        *value |= UINT32_C(1) << number;
        text += digits;
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
}
