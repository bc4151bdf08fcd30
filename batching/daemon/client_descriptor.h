/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that a client has sent. Nothing is believed of one: it may be of
 * any kind of file, on a file system that makes every call on it hang. It is
 * asked only what the kernel answers by itself.
 */
#ifndef WARPRSA_BATCHING_DAEMON_CLIENT_DESCRIPTOR_H
#define WARPRSA_BATCHING_DAEMON_CLIENT_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/socket.h>

/* Whether it is a Unix socket of this type (SOCK_STREAM...; 0: of any). Asks no
 * file system. */
bool warprsa_client_descriptor_is_socket(int fd, int type);

/* Closes one that is not what it should be. To close it may take its file
 * system as long as that likes: a thread of its own does it. */
void warprsa_client_descriptor_dispose(int fd);

/* The process that made a socket, as the kernel recorded it then; pid and user
 * are -1 if that can't be known. */
struct ucred warprsa_client_descriptor_peer(int socket);

#endif
