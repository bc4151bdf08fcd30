/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The section of the configuration file that configured this provider. The core
 * gives the value of a name that it is asked for, but lists no names and says
 * nothing about the file. So the file is read a second time here, to find
 * unknown names and to name file and section in an error.
 */
#ifndef WARPRSA_PROVIDER_CONFIG_SECTION_H
#define WARPRSA_PROVIDER_CONFIG_SECTION_H

#include <openssl/conf.h>

typedef struct warprsa_config_section {
    CONF *conf;
    char *file;
    const char *name; /* of the section; owned by conf */
    const STACK_OF(CONF_VALUE) * values;
} warprsa_config_section;

/*
 * Looks for the section of `provider` in the default configuration file, which
 * OPENSSL_CONF may name. If there is none (no file, no section, a program that
 * reads another file), all fields become NULL, and that is no error. Leaves no
 * error on the queue. One thread, at load.
 */
void warprsa_config_section_find(warprsa_config_section *section,
                                 const char *provider);

/* Frees what find() found, if anything, and sets all fields to NULL. */
void warprsa_config_section_free(warprsa_config_section *section);

/* The value of a name in the section, the last one if there are several; NULL:
 * it isn't there. The section owns it. */
const char *warprsa_config_section_value(const warprsa_config_section *section,
                                         const char *name);

#endif
