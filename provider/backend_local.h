/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The backend that is a queue of the process's own.
 */
#ifndef WARPRSA_PROVIDER_BACKEND_LOCAL_H
#define WARPRSA_PROVIDER_BACKEND_LOCAL_H

#include "batching/queue/backend.h"

/* The functions of a warprsa_queue. */
extern const warprsa_backend_ops warprsa_backend_local;

#endif
