/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the module is told: by C_Initialize's pReserved, a text of words
 * NAME=VALUE with blanks between them, which p11-kit (x-init-reserved) and NSS
 * (parameters) pass on; and where that names no socket, by the environment
 * variable WARPRSA_SOCKET.
 */
#ifndef WARPRSA_PKCS11_SETTINGS_H
#define WARPRSA_PKCS11_SETTINGS_H

#include "batching/base/parameter.h"
#include "batching/daemon/client/control_connection.h"
#include "batching/daemon/wire/protocol.h"

#define WARPRSA_EACH_TOKEN_SETTING(X)                                          \
    X(PATH(WARPRSA_SOCKET_PATH_SIZE), socket, WARPRSA_SOCKET_DEFAULT,          \
      "socket of warprsad")                                                    \
    X(NUMBER(1, 600000), deadline_ms, "2000",                                  \
      "milliseconds that an operation waits for warprsad")

typedef struct warprsa_token_settings {
    WARPRSA_EACH_TOKEN_SETTING(WARPRSA_PARAMETER_FIELD)
} warprsa_token_settings;

/* Reads the settings. `text` may be NULL. False: it, or the environment, has a
 * word that is no setting, or no value for it. Any thread. */
bool warprsa_token_settings_read(warprsa_token_settings *settings,
                                 const char *text);

#endif
