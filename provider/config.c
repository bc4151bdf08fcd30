/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The provider's parameters: where the core has their values, and the errors
 * about them.
 */
#include "provider/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "batching/queue/queue.h"
#include "provider/config_section.h"

static const warprsa_word mode_words[] = {{"process", WARPRSA_MODE_PROCESS},
                                          {"daemon", WARPRSA_MODE_DAEMON},
                                          {NULL, 0}};
static const warprsa_word engine_words[] = {
    WARPRSA_ENGINE_WORDS, {"none", WARPRSA_ENGINE_NONE}, {NULL, 0}};
static const warprsa_word route_words[] = {{"auto", WARPRSA_ROUTE_AUTO},
                                           {"gpu", WARPRSA_ROUTE_GPU},
                                           {"cpu", WARPRSA_ROUTE_CPU},
                                           {NULL, 0}};
static const warprsa_word table_reads_words[] = {
    {"scan", WARPRSA_TABLE_READS_SCAN},
    {"direct", WARPRSA_TABLE_READS_DIRECT},
    {NULL, 0}};

#define ROW(...) WARPRSA_PARAMETER_ROW(warprsa_config, __VA_ARGS__)
#define ONE(...) +1
enum {
    TRACE = 0 WARPRSA_EACH_PARAMETER(ONE), /* open_trace() reads it */
    PARAMETERS,
};
static const warprsa_parameter parameters[PARAMETERS] = {
    WARPRSA_EACH_PARAMETER(ROW)[TRACE] = {.name = "trace", .initial = "none"}};

/* Asks the core for the values of `parameters`, in their order, and last for
 * the provider's own name. A value is NULL where the core has none. */
static bool ask_core(const warprsa_core *core,
                     const char *values[PARAMETERS + 1])
{
    OSSL_PARAM request[PARAMETERS + 2];

    for (int i = 0; i <= PARAMETERS; i++) {
        const char *name = i < PARAMETERS ? parameters[i].name
                                          : OSSL_PROV_PARAM_CORE_PROV_NAME;

        values[i] = NULL;
        request[i] = (OSSL_PARAM)OSSL_PARAM_utf8_ptr(name, &values[i], 0);
    }
    request[PARAMETERS + 1] = (OSSL_PARAM)OSSL_PARAM_END;
    return core->get_params(core->handle, request) == 1;
}

/* Whether the core's values come from this section: they are the same. */
static bool same_values(const warprsa_config_section *section,
                        const char *const values[PARAMETERS + 1])
{
    for (int i = 0; i < PARAMETERS; i++) {
        const char *there =
            warprsa_config_section_value(section, parameters[i].name);

        if ((there == NULL) != (values[i] == NULL) ||
            (there != NULL && strcmp(there, values[i]) != 0))
            return false;
    }
    return section->values != NULL;
}

static void complain(const warprsa_core *core,
                     const warprsa_config_section *section, const char *key,
                     const char *value, const char *what)
{
    if (section->values != NULL)
        warprsa_raise(core, WARPRSA_R_CONFIGURATION,
                      "%s: section %s: %s = %s: %s", section->file,
                      section->name, key, value, what);
    else
        warprsa_raise(core, WARPRSA_R_CONFIGURATION,
                      "the provider's section: %s = %s: %s", key, value, what);
}

static bool is_known(const char *name)
{
    /* What libcrypto itself reads in a provider's section. */
    static const char *const own[] = {"activate", "identity", "module",
                                      "soft_load"};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    for (int i = 0; i < PARAMETERS; i++)
        if (strcmp(name, parameters[i].name) == 0)
            return true;
    return false;
}

static bool check_names(const warprsa_core *core,
                        const warprsa_config_section *section)
{
    for (int i = 0; i < sk_CONF_VALUE_num(section->values); i++) {
        const CONF_VALUE *entry = sk_CONF_VALUE_value(section->values, i);
        char what[512] = "unknown name; expected one of";
        size_t length = strlen(what);

        if (is_known(entry->name))
            continue;
        for (int j = 0; j < PARAMETERS && length < sizeof(what); j++)
            length +=
                (size_t)snprintf(what + length, sizeof(what) - length, "%s %s",
                                 j > 0 ? "," : "", parameters[j].name);
        complain(core, section, entry->name, entry->value, what);
        return false;
    }
    return true;
}

/* What the environment says of the trace. secure_getenv: a set-user-ID program
 * must not open with its own rights a file that its user names. */
static const char *wanted_trace(void)
{
    return secure_getenv("WARPRSA_TRACE");
}

static bool open_trace(const warprsa_core *core,
                       const warprsa_config_section *section,
                       const char *configured)
{
    const char *wanted = wanted_trace();
    char why[512];

    if (wanted != NULL) {
        if (warprsa_trace_open(core->trace, wanted, why, sizeof(why)))
            return true;
        warprsa_raise(core, WARPRSA_R_CONFIGURATION,
                      "the environment: WARPRSA_TRACE = %s: %s", wanted, why);
        return false;
    }
    if (configured == NULL)
        configured = parameters[TRACE].initial;
    if (warprsa_trace_open(core->trace, configured, why, sizeof(why)))
        return true;
    complain(core, section, parameters[TRACE].name, configured, why);
    return false;
}

static bool read_values(warprsa_config *config, const warprsa_core *core,
                        const warprsa_config_section *section,
                        const char *const values[PARAMETERS + 1])
{
    for (int i = 0; i < TRACE; i++) {
        const warprsa_parameter *p = &parameters[i];
        const char *text = values[i] != NULL ? values[i] : p->initial;
        char what[192];

        if (warprsa_parameter_set(p, text, config, what, sizeof(what)))
            continue;
        complain(core, section, p->name, text, what);
        return false;
    }
    return check_names(core, section);
}

bool warprsa_config_read(warprsa_config *config, warprsa_core *core)
{
    const char *values[PARAMETERS + 1];
    warprsa_config_section section = {0};
    bool ok = false;

    if (!ask_core(core, values)) {
        warprsa_raise(core, WARPRSA_R_CONFIGURATION,
                      "libcrypto does not give the provider's parameters");
        return false;
    }
    if (values[PARAMETERS] != NULL)
        warprsa_config_section_find(&section, values[PARAMETERS]);
    if (!same_values(&section, values))
        warprsa_config_section_free(&section);
    /* The trace is opened first, since it shows the other errors. */
    ok = open_trace(core, &section, values[TRACE]) &&
         read_values(config, core, &section, values);
    warprsa_config_section_free(&section);
    return ok;
}

void warprsa_config_open_trace(warprsa_core *core)
{
    const char *values[PARAMETERS + 1];
    const char *wanted = wanted_trace();
    char why[512];

    if (wanted == NULL && ask_core(core, values))
        wanted = values[TRACE];
    warprsa_trace_open(core->trace, wanted != NULL ? wanted : "none", why,
                       sizeof(why));
}
