/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The module's interfaces: which lists of functions it has, by version.
 */
#include "pkcs11/cryptoki.h"

#include <stdbool.h>
#include <string.h>

#define ENTRY(name) .name = name,

static CK_FUNCTION_LIST functions_2_40 = {.version = {2, 40},
                                          WARPRSA_EACH_CRYPTOKI_2(ENTRY)};

/* 3.1 has added no function. */
static CK_FUNCTION_LIST_3_0 functions_3_0 = {
    .version = {3, 0},
    WARPRSA_EACH_CRYPTOKI_2(ENTRY) WARPRSA_EACH_CRYPTOKI_3(ENTRY)};
static CK_FUNCTION_LIST_3_0 functions_3_1 = {
    .version = {3, 1},
    WARPRSA_EACH_CRYPTOKI_2(ENTRY) WARPRSA_EACH_CRYPTOKI_3(ENTRY)};

#undef ENTRY

static char standard[] = "PKCS 11";

/* The first one is the default. None has CKF_INTERFACE_FORK_SAFE: a child must
 * initialise the module itself. */
static CK_INTERFACE interfaces[] = {
    {(void *)standard, &functions_3_1, 0},
    {(void *)standard, &functions_3_0, 0},
    {(void *)standard, &functions_2_40, 0},
};

enum {
    INTERFACES = sizeof(interfaces) / sizeof(interfaces[0]),
};

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list)
{
    if (list == NULL)
        return CKR_ARGUMENTS_BAD;
    *list = &functions_2_40;
    return CKR_OK;
}

CK_RV C_GetInterfaceList(CK_INTERFACE *list, CK_ULONG *count)
{
    CK_ULONG room = 0;

    if (count == NULL)
        return CKR_ARGUMENTS_BAD;
    room = *count;
    *count = INTERFACES;
    if (list == NULL)
        return CKR_OK;
    if (room < INTERFACES)
        return CKR_BUFFER_TOO_SMALL;
    memcpy(list, interfaces, sizeof(interfaces));
    return CKR_OK;
}

/* Every list of functions begins with its version. */
static bool is_wanted(const CK_INTERFACE *interface, const CK_UTF8CHAR *name,
                      const CK_VERSION *version, CK_FLAGS flags)
{
    const CK_VERSION *is = interface->pFunctionList;

    return (name == NULL || strcmp((const char *)name, standard) == 0) &&
           (version == NULL ||
            (version->major == is->major && version->minor == is->minor)) &&
           (interface->flags & flags) == flags;
}

CK_RV C_GetInterface(CK_UTF8CHAR *name, CK_VERSION *version,
                     CK_INTERFACE **interface, CK_FLAGS flags)
{
    if (interface == NULL)
        return CKR_ARGUMENTS_BAD;
    for (unsigned i = 0; i < INTERFACES; i++)
        if (is_wanted(&interfaces[i], name, version, flags)) {
            *interface = &interfaces[i];
            return CKR_OK;
        }
    return CKR_FUNCTION_FAILED;
}
