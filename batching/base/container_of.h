/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a member to the structure that it is part of.
 */
#ifndef WARPRSA_BATCHING_BASE_CONTAINER_OF_H
#define WARPRSA_BATCHING_BASE_CONTAINER_OF_H

#include <stddef.h>

/* The `type` whose `member` this points to. */
#define WARPRSA_CONTAINER_OF(pointer, type, member)                            \
    ((type *)((char *)(pointer)-offsetof(type, member)))

#endif
