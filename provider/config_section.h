/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The section of the configuration file that this provider was configured
 * from. The core answers for names one asks for but lists none, so unknown
 * names are found, and errors told where they stand, by reading the file
 * again.
 */
#ifndef WARPRSA_CONFIG_SECTION_H
#define WARPRSA_CONFIG_SECTION_H

#include <openssl/conf.h>

typedef struct warprsa_config_section {
    CONF *conf;
    char *file;
    const char *name; /* of the section; lives in conf */
    const STACK_OF(CONF_VALUE) * values;
} warprsa_config_section;

/*
 * Looks for the section of `provider` in the default configuration file
 * (OPENSSL_CONF). Without one (no file, no section, a program that reads
 * another file), everything is NULL: that is no error. Leaves no error on the
 * queue.
 */
void warprsa_config_section_find(warprsa_config_section *section,
                                 const char *provider);
/* Frees what find() found, be it nothing; all is NULL afterwards. */
void warprsa_config_section_free(warprsa_config_section *section);

/* The value of a name in the section, the last one if there are several; NULL
 * if it isn't there. It lives as long as the section. */
const char *warprsa_config_section_value(const warprsa_config_section *section,
                                         const char *name);

#endif
