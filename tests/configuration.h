/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The openssl.cnf that tests and tools load the module by.
 */
#ifndef WARPRSA_TESTS_CONFIGURATION_H
#define WARPRSA_TESTS_CONFIGURATION_H

#include <stdio.h>

/* Writes one with the default provider, and with the module at this path
 * preferred to it; it ends within the module's section, for the caller to add
 * lines, of which "activate = 1" may be one. Errors show in ferror(file). */
static inline void configuration_begin(FILE *file, const char *module)
{
    fprintf(file,
            "openssl_conf = init\n"
            "[init]\n"
            "providers = providers\n"
            "alg_section = algorithms\n"
            "[algorithms]\n"
            "default_properties = ?provider=warprsa\n"
            "[providers]\n"
            "default = default_section\n"
            "warprsa = warprsa_section\n"
            "[default_section]\n"
            "activate = 1\n"
            "[warprsa_section]\n"
            "module = %s\n",
            module);
}

#endif
