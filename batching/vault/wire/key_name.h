/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The name of a vault key: that of its file without ".pem". It stands in
 * keys.conf, in references, in URIs and in log lines, so it has letters,
 * digits, '.', '_' and '-' alone, and begins with none of '.' and '-'.
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_KEY_NAME_H
#define WARPRSA_BATCHING_VAULT_WIRE_KEY_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum {
    WARPRSA_KEY_NAME_SIZE = 64, /* with its final zero */
    WARPRSA_KEY_SPKI_BYTES = 32,
};

/* What is allowed, to go on after "expected". */
#define WARPRSA_KEY_NAME_ALLOWED                                               \
    "a name of 1 to 63 letters, digits, '.', '_' and '-', which begins with "  \
    "none of '.' and '-'"

/* Whether these bytes are a name. Any thread. */
static inline bool warprsa_key_name_is_valid(const char *name, size_t length)
{
    if (length == 0 || length >= WARPRSA_KEY_NAME_SIZE || name[0] == '.' ||
        name[0] == '-')
        return false;
    for (size_t i = 0; i < length; i++) {
        const char c = name[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

#endif
