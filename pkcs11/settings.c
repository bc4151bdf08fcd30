/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reading the settings of the module.
 */
#include "pkcs11/settings.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORD_SIZE = 256,
    WHY_SIZE = 200,
};

#define ROW(...) WARPRSA_PARAMETER_ROW(warprsa_token_settings, __VA_ARGS__)
static const warprsa_parameter table[] = {WARPRSA_EACH_TOKEN_SETTING(ROW)};
#undef ROW

enum {
    ROWS = sizeof(table) / sizeof(table[0]),
};

/* Sets the parameter of this name. PKCS #11 has no place for the reason why a
 * value is refused. */
static bool set(warprsa_token_settings *settings, const char *name,
                size_t name_length, const char *value)
{
    char why[WHY_SIZE];

    for (unsigned i = 0; i < ROWS; i++)
        if (strlen(table[i].name) == name_length &&
            memcmp(table[i].name, name, name_length) == 0)
            return warprsa_parameter_set(&table[i], value, settings, why,
                                         sizeof(why));
    return false;
}

/* Sets what one word says. */
static bool set_word(warprsa_token_settings *settings, const char *at,
                     size_t length)
{
    char word[WORD_SIZE];
    char *equals = NULL;

    if (length >= sizeof(word))
        return false;
    memcpy(word, at, length);
    word[length] = '\0';
    equals = strchr(word, '=');
    return equals != NULL &&
           set(settings, word, (size_t)(equals - word), equals + 1);
}

bool warprsa_token_settings_read(warprsa_token_settings *settings,
                                 const char *text)
{
    /* Not in a set-user-ID program: the socket would be its caller's choice. */
    const char *socket = secure_getenv("WARPRSA_SOCKET");
    bool ok = true, has_socket = false;

    memset(settings, 0, sizeof(*settings));
    for (unsigned i = 0; i < ROWS; i++)
        ok = ok && set(settings, table[i].name, strlen(table[i].name),
                       table[i].initial);
    while (ok && text != NULL && *(text += strspn(text, " \t\n")) != '\0') {
        const size_t length = strcspn(text, " \t\n");

        ok = set_word(settings, text, length);
        has_socket = has_socket || strncmp(text, "socket=", 7) == 0;
        text += length;
    }
    if (socket != NULL && !has_socket)
        ok = ok && set(settings, "socket", strlen("socket"), socket);
    return ok;
}
