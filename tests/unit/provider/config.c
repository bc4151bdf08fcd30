/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Configurations with a mistake: the text of each error, that the provider is
 * not loaded, and that the default provider works as usual.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>

#include "provider/config.h"
#include "tests/unit/support/provider_support.h"

static char directory[] = "/tmp/warprsa-config.XXXXXX";
static char conf[sizeof(directory) + 16];

static int setup(void **state)
{
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(conf, sizeof(conf), "%s/openssl.cnf", directory);
    /* Where libcrypto, and so the provider, looks for the file by default. */
    return setenv("OPENSSL_CONF", conf, 1);
}

static int teardown(void **state)
{
    unlink(conf);
    return rmdir(directory);
}

/* Whether an error with this text is on the queue. */
static int raised(const char *wanted)
{
    const char *data = NULL;
    int flags = 0, found = 0;

    while (ERR_get_error_all(NULL, NULL, NULL, &data, &flags) != 0) {
        if ((flags & ERR_TXT_STRING) && strcmp(data, wanted) == 0)
            found = 1;
        else if ((flags & ERR_TXT_STRING) && strstr(data, " = ") != NULL)
            fprintf(stderr, "got:    %s\nwanted: %s\n", data, wanted);
    }
    return found;
}

static void assert_default_carries_on(OSSL_LIB_CTX *libctx)
{
    EVP_PKEY *key = key_make(libctx, "RSA", 1024, 2);
    EVP_PKEY *oracle = key_in(NULL, key);

    assert_true(OSSL_PROVIDER_available(libctx, "default"));
    assert_false(OSSL_PROVIDER_available(libctx, "warprsa"));
    assert_true(signs_right(libctx, key, oracle));
    EVP_PKEY_free(oracle);
    EVP_PKEY_free(key);
}

static void assert_refused(const char *settings, const char *wanted)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    char lines[400];

    /* Loaded by name, the provider raises an error. */
    snprintf(lines, sizeof(lines), "%s\n", settings);
    write_configuration(conf, lines);
    assert_int_equal(OSSL_LIB_CTX_load_config(libctx, conf), 1);
    ERR_clear_error();
    assert_null(module_load(libctx));
    assert_true(raised(wanted));
    assert_default_carries_on(libctx);
    OSSL_LIB_CTX_free(libctx);
    /* Activated by the file, libcrypto drops the error. */
    snprintf(lines, sizeof(lines), "%s\nactivate = 1\n", settings);
    write_configuration(conf, lines);
    libctx = OSSL_LIB_CTX_new();
    assert_int_equal(OSSL_LIB_CTX_load_config(libctx, conf), 1);
    assert_default_carries_on(libctx);
    OSSL_LIB_CTX_free(libctx);
}

/* Asserts that KEY = VALUE is refused, with `allowed` in the error's text. */
static void assert_value_refused(const char *key, const char *value,
                                 const char *allowed)
{
    char setting[320], wanted[512];

    snprintf(setting, sizeof(setting), "%s = %s", key, value);
    snprintf(wanted, sizeof(wanted),
             "%s: section warprsa_section: %s = %s: expected %s", conf, key,
             value, allowed);
    assert_refused(setting, wanted);
}

/* A build with CUDA asks it for more streams at once, where more are wanted and
 * a GPU may be used. Runs first, while the process has one thread. */
TEST(streams_in_the_environment)
{
    static const char variable[] = "CUDA_DEVICE_MAX_CONNECTIONS";
    static const struct {
        const char *settings;
        const char *asks; /* NULL: for no more */
    } cases[] = {
        {"engine = auto\nroute = gpu\nstreams = 16\n", "16"},
        {"engine = cuda\nroute = auto\nstreams = 9\n", "9"},
        {"engine = auto\nroute = gpu\nbatch_max = auto\n", "24"},
        {"engine = auto\nroute = gpu\nstreams = 8\n", NULL},
        {"engine = host\nroute = gpu\nstreams = 16\n", NULL},
        {"engine = auto\nroute = cpu\nstreams = 16\n", NULL},
        {"mode = daemon\nsocket = /there/is/none\nstreams = 16\n", NULL},
    };

    /* libcrypto loads that file for its default context, which asks for the
     * default's number, before it loads one of the cases. */
    write_configuration(conf, "activate = 1\n");
    assert_int_equal(OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL), 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        OSSL_LIB_CTX *libctx = NULL;
        const char *value;

        assert_int_equal(unsetenv(variable), 0);
        libctx = subject_open(cases[i].settings);
        value = getenv(variable);
        if (WITH_CUDA && cases[i].asks != NULL)
            assert_string_equal(value != NULL ? value : "not set",
                                cases[i].asks);
        else
            assert_null(value);
        OSSL_LIB_CTX_free(libctx);
    }
    assert_int_equal(unsetenv(variable), 0);
}

TEST(bad_words)
{
    static const char engines[] = "one of auto, cuda, ifma, host, none";
    static const char routes[] = "one of auto, gpu, cpu";

    assert_value_refused("engine", "gpu", engines);
    assert_value_refused("engine", "Host", engines);
    assert_value_refused("engine", "auto cuda", engines);
    assert_value_refused("engine", "", engines);
    assert_value_refused("route", "device", routes);
    assert_value_refused("route", "g", routes);
    assert_value_refused("mode", "Daemon", "one of process, daemon");
    assert_value_refused("mode", "", "one of process, daemon");
    assert_value_refused("table_reads", "Direct", "one of scan, direct");
    assert_value_refused("table_reads", "", "one of scan, direct");
}

TEST(bad_paths)
{
    static const char allowed[] = "an absolute path of at most 107 bytes";
    char path[109];

    assert_value_refused("socket", "", allowed);
    assert_value_refused("socket", "warprsad.sock", allowed);
    memset(path, '/', 108);
    path[108] = '\0';
    assert_value_refused("socket", path, allowed);
}

TEST(bad_paths_or_none)
{
    static const char allowed[] =
        "none or an absolute path of at most 255 bytes";
    char path[257];

    assert_value_refused("calibration_file", "", allowed);
    assert_value_refused("calibration_file", "None", allowed);
    assert_value_refused("calibration_file", "calibration", allowed);
    memset(path, '/', 256);
    path[256] = '\0';
    assert_value_refused("calibration_file", path, allowed);
}

TEST(bad_numbers)
{
    static const struct {
        const char *key, *other;
        unsigned min, max;
    } numbers[] = {
        {"slots", "", 1, 65536},
        {"streams", "", 1, 32},
        {"batch_max", "auto or ", 1, 65536},
        {"keys_max", "", 1, 1000000},
        {"deadline_ms", "", 1, 600000},
        {"startup_ms", "", 0, 600000},
    };
    static const char *const bad[] = {"",     "-1",  "1k",
                                      "0x10", "1.5", "99999999999999999999"};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        char allowed[64], value[16];

        snprintf(allowed, sizeof(allowed), "%sa number from %u to %u",
                 numbers[i].other, numbers[i].min, numbers[i].max);
        for (size_t j = 0; j < sizeof(bad) / sizeof(bad[0]); j++)
            assert_value_refused(numbers[i].key, bad[j], allowed);
        snprintf(value, sizeof(value), "%u", numbers[i].max + 1);
        assert_value_refused(numbers[i].key, value, allowed);
        if (numbers[i].min > 0)
            assert_value_refused(numbers[i].key, "0", allowed);
    }
}

TEST(bad_devices)
{
    static const char *const bad[] = {"",    "16",    "0,",  ",0", "0,,1",
                                      "0 1", "all,0", "0,x", "100"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_value_refused(
            "devices", bad[i],
            "all, or device numbers from 0 to 15 separated by commas");
}

TEST(bad_programs)
{
    static const char *const bad[] = {"",    "nginx", "/a,",
                                      ",/a", "/a,b",  "/a,,/b"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_value_refused("programs_allow", bad[i],
                             "all, or patterns of absolute paths separated by "
                             "commas, in all at most 1023 bytes");
        assert_value_refused("programs_deny", bad[i],
                             "none, or patterns of absolute paths separated by "
                             "commas, in all at most 1023 bytes");
    }
    assert_value_refused("programs_deny", "all",
                         "none, or patterns of absolute paths separated by "
                         "commas, in all at most 1023 bytes");
}

TEST(bad_traces)
{
    static const char allowed[] =
        "none, stderr or file:PATH, each but none with an optional ,level:1 "
        "or ,level:2";
    char wanted[512];

    assert_value_refused("trace", "stdout", allowed);
    assert_value_refused("trace", "file:", allowed);
    assert_value_refused("trace", "stderr,level:3", allowed);
    assert_value_refused("trace", "stderr,level:", allowed);
    assert_value_refused("trace", "stderr,level:11", allowed);
    snprintf(wanted, sizeof(wanted),
             "%s: section warprsa_section: trace = file:%s/there/is/no: cannot "
             "open %s/there/is/no: No such file or directory",
             conf, directory, directory);
    char setting[128];
    snprintf(setting, sizeof(setting), "trace = file:%s/there/is/no",
             directory);
    assert_refused(setting, wanted);
    /* The environment wins, even over a good value. */
    assert_int_equal(setenv("WARPRSA_TRACE", "loud", 1), 0);
    snprintf(wanted, sizeof(wanted),
             "the environment: WARPRSA_TRACE = loud: expected %s", allowed);
    assert_refused("trace = stderr", wanted);
    assert_int_equal(unsetenv("WARPRSA_TRACE"), 0);
}

/* The trace shows the error that libcrypto drops. */
TEST(refusal_traced)
{
    OSSL_LIB_CTX *libctx = NULL;
    char path[sizeof(directory) + 16], setting[128], line[512], wanted[256];
    FILE *file = NULL;

    snprintf(path, sizeof(path), "%s/trace", directory);
    snprintf(setting, sizeof(setting),
             "activate = 1\nroute = warp\ntrace = file:%s\n", path);
    write_configuration(conf, setting);
    libctx = OSSL_LIB_CTX_new();
    assert_int_equal(OSSL_LIB_CTX_load_config(libctx, conf), 1);
    assert_default_carries_on(libctx);
    OSSL_LIB_CTX_free(libctx);
    snprintf(wanted, sizeof(wanted),
             "warprsa[%ld] not loaded: %s: section warprsa_section: route = "
             "warp: expected one of auto, gpu, cpu\n",
             (long)getpid(), conf);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, wanted);
    assert_null(fgets(line, sizeof(line), file));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(unlink(path), 0);
}

TEST(unknown_names)
{
#define NAME(kind, name, ...) #name ", "
    static const char known[] =
        "unknown name; expected one of " WARPRSA_EACH_PARAMETER(NAME) "trace";
    char wanted[512];

    snprintf(wanted, sizeof(wanted),
             "%s: section warprsa_section: slot = 12: %s", conf, known);
    assert_refused("slot = 12", wanted);
    snprintf(wanted, sizeof(wanted),
             "%s: section warprsa_section: Engine = host: %s", conf, known);
    assert_refused("engine = none\nEngine = host", wanted);
}

/* A program that loads a file other than the default one: errors can't name
 * file and section, and unknown names aren't found, but values are checked. */
TEST(another_file)
{
    OSSL_LIB_CTX *libctx = NULL;

    write_configuration(conf, "activate = 1\n");
    ERR_clear_error();
    libctx = context_with("slots = 0\n");
    assert_null(module_load(libctx));
    assert_true(raised("the provider's section: slots = 0: expected a number "
                       "from 1 to 65536"));
    assert_default_carries_on(libctx);
    OSSL_LIB_CTX_free(libctx);
    /* A mistake in the default file does not count here. */
    write_configuration(conf, "activate = 1\nslot = 12\n");
    libctx = subject_open("slots = 12\n");
    OSSL_LIB_CTX_free(libctx);
}

TEST(good_values)
{
    OSSL_LIB_CTX *libctx = OSSL_LIB_CTX_new();
    char lines[512];
    struct stat status;
    char path[sizeof(directory) + 16];

    snprintf(path, sizeof(path), "%s/trace", directory);
    snprintf(lines, sizeof(lines),
             "activate = 1\nengine = none\nroute = gpu\ndevices = 0,15\n"
             "slots = 65536\nstreams = 32\ncpu_threads = 256\n"
             "batch_max = 65536\nkeys_max = 1000000\n"
             "deadline_ms = 600000\nstartup_ms = 0\n"
             "calibration_file = /there/is/no\ntable_reads = direct\n"
             "trace = file:%s,level:2\n",
             path);
    write_configuration(conf, lines);
    ERR_clear_error();
    assert_int_equal(OSSL_LIB_CTX_load_config(libctx, conf), 1);
    assert_true(OSSL_PROVIDER_available(libctx, "warprsa"));
    assert_int_equal(ERR_peek_error(), 0);
    OSSL_LIB_CTX_free(libctx);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(status.st_size > 0);
    assert_int_equal(unlink(path), 0);
}

RUN_TESTS(setup, teardown)
