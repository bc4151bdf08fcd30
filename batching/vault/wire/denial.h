/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Why the daemon denies a use of a key of its vault. The decision is the
 * rules' (keys.conf); the number goes over the wire, and both sides have the
 * same words for it.
 */
#ifndef WARPRSA_BATCHING_VAULT_WIRE_DENIAL_H
#define WARPRSA_BATCHING_VAULT_WIRE_DENIAL_H

#include <stdint.h>

/* X(ID, NAME, TEXT). The name is for counters; the text completes "key www: ".
 * The order is that of the decision: what no line allows as a whole is denied
 * for the last of these that some line reached. Log and counters alone have
 * USER: a user who is denied for it is told NO_KEY. */
#define WARPRSA_EACH_DENIAL(X)                                                 \
    X(NO_KEY, no_key, "the vault has no such key for this user")               \
    X(USER, user, "keys.conf allows this user nothing with it")                \
    X(OPERATION, operation,                                                    \
      "keys.conf does not allow this user the operation")                      \
    X(PADDING, padding, "keys.conf does not allow this user the padding")      \
    X(DIGEST, digest, "keys.conf does not allow this user the digest")         \
    X(RATE, rate, "this user has used up its rate")

typedef enum warprsa_denial {
    WARPRSA_ALLOWED = 0,
#define DENIAL(id, ...) WARPRSA_DENIED_##id,
    WARPRSA_EACH_DENIAL(DENIAL)
#undef DENIAL
    WARPRSA_DENIALS
} warprsa_denial;

/* A constant, also for a number that is no denial. */
static inline const char *warprsa_denial_text(uint32_t denial)
{
    static const char *const texts[] = {"allowed",
#define TEXT(id, name, text) text,
                                        WARPRSA_EACH_DENIAL(TEXT)
#undef TEXT
    };

    return denial < WARPRSA_DENIALS ? texts[denial] : "denied";
}

#endif
