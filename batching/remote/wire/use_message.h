/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The message Use of warprsa.proto: what is to be done with a key of the GPU
 * host's vault. Its numbers are those of a warprsa_key_use. This file checks
 * the message by itself; whether the fields go together is for
 * warprsa_key_use_fault() to find.
 */
#ifndef WARPRSA_BATCHING_REMOTE_WIRE_USE_MESSAGE_H
#define WARPRSA_BATCHING_REMOTE_WIRE_USE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "batching/remote/wire/protobuf.h"
#include "batching/vault/wire/key_use.h"

/* Reads a Use into all of *use but input_bytes, which become 0. If a value fits
 * into no use, the result is all zeros: no use has the operation 0, so it has a
 * fault. False: the message is malformed. Any thread. */
bool warprsa_remote_read_use(warprsa_protobuf_reader in, warprsa_key_use *use);

/* How many bytes warprsa_remote_put_use() writes: a message without its head.
 * input_bytes are not part of it. Any thread. */
size_t warprsa_remote_use_size(const warprsa_key_use *use);
void warprsa_remote_put_use(warprsa_protobuf_writer *writer,
                            const warprsa_key_use *use);

#endif
