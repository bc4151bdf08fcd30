/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The table of the provider's parameters, with a parser for each kind of value,
 * and the errors about them.
 */
#include "provider/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/params.h>

#include "batching/base/config_value.h"
#include "batching/queue/queue.h"
#include "provider/config_section.h"

/* One parameter. `parse` stores the value of a text in `field`, which is at
 * `offset` in warprsa_config. False: the value isn't allowed. */
typedef struct parameter {
    const char *name;
    bool (*parse)(const struct parameter *parameter, const char *text,
                  void *field);
    const char *initial;
    const char *help; /* what is allowed */
    size_t offset;
    unsigned min, max; /* of numbers; max: length of paths */
    const char *words; /* of enumerations, in their order, "a b c" */
} parameter;

static bool parse_number(const parameter *parameter, const char *text,
                         void *field)
{
    return warprsa_config_number(text, parameter->min, parameter->max, field);
}

static bool parse_cpu_threads(const parameter *parameter, const char *text,
                              void *field)
{
    return warprsa_config_number_or_auto(text, parameter->min, parameter->max,
                                         WARPRSA_CPU_THREADS_AUTO, field);
}

static bool parse_word(const parameter *parameter, const char *text,
                       void *field)
{
    return warprsa_config_word(text, parameter->words, field);
}

static bool parse_path(const parameter *parameter, const char *text,
                       void *field)
{
    if (text[0] != '/' || strlen(text) > parameter->max)
        return false;
    strcpy(field, text);
    return true;
}

/* "none" becomes an empty path. */
static bool parse_path_or_none(const parameter *parameter, const char *text,
                               void *field)
{
    if (strcmp(text, "none") != 0)
        return parse_path(parameter, text, field);
    *(char *)field = '\0';
    return true;
}

/* Patterns that begin with "/", separated by commas; `words`, which stands for
 * no pattern, becomes an empty list. */
static bool parse_programs(const parameter *parameter, const char *text,
                           void *field)
{
    const char *pattern = text;

    *(char *)field = '\0';
    if (strcmp(text, parameter->words) == 0)
        return true;
    if (strlen(text) > parameter->max)
        return false;
    while (pattern != NULL) {
        pattern += strspn(pattern, " \t");
        if (*pattern != '/')
            return false;
        pattern = strchr(pattern, ',');
        pattern = pattern != NULL ? pattern + 1 : NULL;
    }
    strcpy(field, text);
    return true;
}

static bool parse_devices(const parameter *parameter, const char *text,
                          void *field)
{
    return warprsa_config_devices(text, parameter->max, field);
}

/* For the trace, which open_trace() parses when it opens it. */
static bool parse_later(const parameter *parameter, const char *text,
                        void *field)
{
    (void)parameter, (void)text, (void)field;
    return true;
}

#define FIELD(name) offsetof(warprsa_config, name)
static const parameter parameters[] = {
    {"mode", parse_word, "process", "one of process, daemon", FIELD(mode), 0, 0,
     "process daemon"},
    {"socket", parse_path, WARPRSA_SOCKET_DEFAULT,
     "an absolute path of at most 107 bytes", FIELD(socket), 0,
     WARPRSA_SOCKET_PATH_SIZE - 1, NULL},
    {"engine", parse_word, "auto", "one of auto, cuda, ifma, host, none",
     FIELD(engine), 0, 0, WARPRSA_ENGINE_NAMES " none"},
    {"route", parse_word, "auto", "one of auto, gpu, cpu", FIELD(route), 0, 0,
     "auto gpu cpu"},
    {"devices", parse_devices, "all",
     "all, or device numbers from 0 to 15 separated by commas", FIELD(devices),
     0, WARPRSA_DEVICES_MAX - 1, NULL},
    {"slots", parse_number, "16384", "a number from 1 to 65536", FIELD(slots),
     1, 65536, NULL},
    {"streams", parse_number, "8", "a number from 1 to 32", FIELD(streams), 1,
     WARPRSA_GPU_STREAMS_MAX, NULL},
    {"cpu_threads", parse_cpu_threads, "auto", "auto or a number from 0 to 256",
     FIELD(cpu_threads), 0, WARPRSA_STREAMS_MAX, NULL},
    {"batch_max", parse_number, "8192", "a number from 1 to 65536",
     FIELD(batch_max), 1, 65536, NULL},
    {"keys_max", parse_number, "4096", "a number from 1 to 1000000",
     FIELD(keys_max), 1, 1000000, NULL},
    {"deadline_ms", parse_number, "2000", "a number from 1 to 600000",
     FIELD(deadline_ms), 1, 600000, NULL},
    {"startup_ms", parse_number, "10000", "a number from 0 to 600000",
     FIELD(startup_ms), 0, 600000, NULL},
    {"calibration_file", parse_path_or_none, "none",
     "none or an absolute path of at most 255 bytes", FIELD(calibration_file),
     0, WARPRSA_CALIBRATION_PATH_SIZE - 1, NULL},
    {"table_reads", parse_word, "scan", "one of scan, direct",
     FIELD(table_reads), 0, 0, "scan direct"},
    {"programs_allow", parse_programs, "all",
     "all, or patterns of absolute paths separated by commas, in all at most "
     "1023 bytes",
     FIELD(programs_allow), 0, WARPRSA_PROGRAMS_SIZE - 1, "all"},
    {"programs_deny", parse_programs, "none",
     "none, or patterns of absolute paths separated by commas, in all at most "
     "1023 bytes",
     FIELD(programs_deny), 0, WARPRSA_PROGRAMS_SIZE - 1, "none"},
    {"trace", parse_later, "none", WARPRSA_TRACE_ALLOWED, 0, 0, 0, NULL},
};
enum {
    PARAMETERS = sizeof(parameters) / sizeof(parameters[0]),
    TRACE = PARAMETERS - 1,
};

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
    for (int i = 0; i < PARAMETERS; i++) {
        const parameter *p = &parameters[i];
        const char *text = values[i] != NULL ? values[i] : p->initial;
        char what[128];

        if (p->parse(p, text, (char *)config + p->offset))
            continue;
        snprintf(what, sizeof(what), "expected %s", p->help);
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
