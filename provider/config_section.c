/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Finding the provider's section in the configuration file, as libcrypto finds
 * it.
 */
#include "provider/config_section.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

/* The value of a name; NULL: it isn't there. */
static const char *value_of(const STACK_OF(CONF_VALUE) * values,
                            const char *name)
{
    const char *value = NULL;

    /* The last value of a name counts, as it does for the core. */
    for (int i = 0; i < sk_CONF_VALUE_num(values); i++) {
        const CONF_VALUE *entry = sk_CONF_VALUE_value(values, i);

        if (strcmp(entry->name, name) == 0)
            value = entry->value;
    }
    return value;
}

const char *warprsa_config_section_value(const warprsa_config_section *section,
                                         const char *name)
{
    return section->values == NULL ? NULL : value_of(section->values, name);
}

/* libcrypto's rule for a name that stands several times in a section: "1.name"
 * means "name". */
static const char *skip_prefix(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot == NULL ? name : dot + 1;
}

/* Looks for `provider` in the list of providers, by its identity or name. */
static void find_in_providers(warprsa_config_section *section,
                              const STACK_OF(CONF_VALUE) * providers,
                              const char *provider)
{
    for (int i = 0; i < sk_CONF_VALUE_num(providers); i++) {
        const CONF_VALUE *entry = sk_CONF_VALUE_value(providers, i);
        const STACK_OF(CONF_VALUE) *values =
            NCONF_get_section(section->conf, entry->value);
        const char *identity = NULL;

        if (values == NULL)
            continue;
        identity = value_of(values, "identity");
        if (identity == NULL)
            identity = skip_prefix(entry->name);
        if (strcmp(identity, provider) == 0) {
            section->name = entry->value;
            section->values = values;
            return;
        }
    }
}

/* Follows the file's openssl_conf and providers to the provider's section. */
static void find(warprsa_config_section *section, const char *provider)
{
    const char *init, *list;
    const STACK_OF(CONF_VALUE) * providers;

    section->file = CONF_get1_default_config_file();
    section->conf = NCONF_new(NULL);
    if (section->file == NULL || section->conf == NULL ||
        NCONF_load(section->conf, section->file, NULL) <= 0)
        return;
    init = NCONF_get_string(section->conf, NULL, "openssl_conf");
    if (init == NULL)
        return;
    list = NCONF_get_string(section->conf, init, "providers");
    if (list == NULL)
        return;
    providers = NCONF_get_section(section->conf, list);
    if (providers != NULL)
        find_in_providers(section, providers, provider);
}

void warprsa_config_section_find(warprsa_config_section *section,
                                 const char *provider)
{
    *section = (warprsa_config_section){0};
    ERR_set_mark();
    find(section, provider);
    ERR_pop_to_mark();
    if (section->values == NULL)
        warprsa_config_section_free(section);
}

void warprsa_config_section_free(warprsa_config_section *section)
{
    NCONF_free(section->conf);
    OPENSSL_free(section->file);
    *section = (warprsa_config_section){0};
}
