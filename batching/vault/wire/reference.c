/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * References in DER and PEM. Both readers look at each byte once, from the
 * first to the last.
 */
#include "batching/vault/wire/reference.h"

#include <string.h>

enum {
    TAG_INTEGER = 0x02,
    TAG_UTF8 = 0x0c,
    TAG_SEQUENCE = 0x30,
    TAG_SOCKET = 0x80, /* [0] IMPLICIT */
    VERSION = 1,
    LINE = 64, /* characters of base64 in a line of PEM */
};

static const char begin_line[] = "-----BEGIN " WARPRSA_REFERENCE_LABEL "-----";
static const char end_line[] = "-----END " WARPRSA_REFERENCE_LABEL "-----";

bool warprsa_reference_socket_is_valid(const char *path)
{
    for (const char *at = path; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return false;
    return path[0] == '/';
}

/* ---- reading DER ---- */

typedef struct bytes {
    const uint8_t *at, *end;
} bytes;

static size_t left(const bytes *in)
{
    return (size_t)(in->end - in->at);
}

/* Reads a length below 65536 in its shortest form. */
static bool take_length(bytes *in, size_t *length)
{
    unsigned count = 0;

    if (left(in) == 0)
        return false;
    *length = *in->at++;
    if (*length < 0x80)
        return true;
    count = *length & 0x7f;
    if (count < 1 || count > 2 || left(in) < count)
        return false;
    *length = *in->at++;
    if (count == 2)
        *length = *length << 8 | *in->at++;
    return *length >= (count == 1 ? 0x80 : 0x100);
}

/* Takes an element with this tag off the front. `content` is what is in it. */
static bool take(bytes *in, uint8_t tag, bytes *content)
{
    size_t length = 0;

    if (left(in) == 0 || *in->at != tag)
        return false;
    in->at++;
    if (!take_length(in, &length) || length > left(in))
        return false;
    *content = (bytes){in->at, in->at + length};
    in->at = content->end;
    return true;
}

/* Copies a text of fewer than `size` bytes, none of which is 0. */
static bool copy_text(char *to, size_t size, const bytes *from)
{
    const size_t length = left(from);

    if (length >= size || memchr(from->at, '\0', length) != NULL)
        return false;
    memcpy(to, from->at, length);
    to[length] = '\0';
    return true;
}

static const char *take_version(bytes *in)
{
    bytes number = {0};

    if (!take(in, TAG_INTEGER, &number) || left(&number) != 1)
        return "no version";
    return *number.at == VERSION ? NULL : "an unknown version";
}

static const char *take_spki(bytes *in, warprsa_reference *out)
{
    const uint8_t *begin = in->at;
    bytes content = {0};

    if (!take(in, TAG_SEQUENCE, &content) || left(&content) == 0)
        return "no public key";
    out->spki_bytes = (size_t)(in->at - begin);
    if (out->spki_bytes > sizeof(out->spki))
        return "too long a public key";
    memcpy(out->spki, begin, out->spki_bytes);
    return NULL;
}

static const char *take_texts(bytes *in, warprsa_reference *out)
{
    bytes text = {0};

    if (!take(in, TAG_UTF8, &text) ||
        !copy_text(out->name, sizeof(out->name), &text) ||
        !warprsa_key_name_is_valid(out->name, strlen(out->name)))
        return "no name, or one that no key can have";
    if (left(in) == 0)
        return NULL;
    if (!take(in, TAG_SOCKET, &text) ||
        !copy_text(out->socket, sizeof(out->socket), &text) ||
        !warprsa_reference_socket_is_valid(out->socket))
        return "not the path of a socket";
    return left(in) == 0 ? NULL : "something after the socket";
}

const char *warprsa_reference_read(warprsa_reference *out, const uint8_t *der,
                                   size_t length)
{
    bytes all = {der, der + length}, in = {0};
    const char *wrong = NULL;

    memset(out, 0, sizeof(*out));
    if (!take(&all, TAG_SEQUENCE, &in) || left(&all) != 0)
        return "not one DER sequence";
    wrong = take_version(&in);
    if (wrong == NULL)
        wrong = take_spki(&in, out);
    if (wrong == NULL)
        wrong = take_texts(&in, out);
    return wrong;
}

/* ---- writing DER ---- */

/* Bytes of the head of an element with `length` bytes in it. */
static size_t head_bytes(size_t length)
{
    return length < 0x80 ? 2 : length < 0x100 ? 3 : 4;
}

static size_t element_bytes(size_t length)
{
    return head_bytes(length) + length;
}

static uint8_t *put_head(uint8_t *to, uint8_t tag, size_t length)
{
    const size_t count = head_bytes(length) - 2;

    *to++ = tag;
    if (count > 0)
        *to++ = (uint8_t)(0x80 | count);
    if (count == 2)
        *to++ = (uint8_t)(length >> 8);
    *to++ = (uint8_t)length;
    return to;
}

static uint8_t *put(uint8_t *to, const void *from, size_t length)
{
    memcpy(to, from, length);
    return to + length;
}

/* Whether a reader would take the texts and the key. */
static bool can_be_read(const warprsa_reference *reference)
{
    const uint8_t *spki = reference->spki;
    bytes in = {spki, spki + reference->spki_bytes}, content = {0};

    return reference->spki_bytes <= sizeof(reference->spki) &&
           take(&in, TAG_SEQUENCE, &content) && left(&in) == 0 &&
           left(&content) > 0 &&
           memchr(reference->socket, '\0', sizeof(reference->socket)) != NULL &&
           (reference->socket[0] == '\0' ||
            warprsa_reference_socket_is_valid(reference->socket)) &&
           memchr(reference->name, '\0', sizeof(reference->name)) != NULL &&
           warprsa_key_name_is_valid(reference->name, strlen(reference->name));
}

size_t warprsa_reference_write(const warprsa_reference *reference, uint8_t *der,
                               size_t room)
{
    size_t name = 0, socket = 0, inner = 0;
    uint8_t *at = der;

    if (!can_be_read(reference))
        return 0;
    name = strlen(reference->name);
    socket = strlen(reference->socket);
    inner = element_bytes(1) + reference->spki_bytes + element_bytes(name) +
            (socket > 0 ? element_bytes(socket) : 0);
    if (element_bytes(inner) > room)
        return 0;
    at = put_head(at, TAG_SEQUENCE, inner);
    at = put_head(at, TAG_INTEGER, 1);
    *at++ = VERSION;
    at = put(at, reference->spki, reference->spki_bytes);
    at = put(put_head(at, TAG_UTF8, name), reference->name, name);
    if (socket > 0)
        at = put(put_head(at, TAG_SOCKET, socket), reference->socket, socket);
    return (size_t)(at - der);
}

/* ---- PEM ---- */

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of a digit of base64; -1: it is none. */
static int value_of(char c)
{
    const char *digit = c == '\0' ? NULL : strchr(digits, c);

    return digit == NULL ? -1 : (int)(digit - digits);
}

/* Reads a line, without the white space at its end. False: there is none. */
static bool take_line(const char **at, const char *end, const char **line,
                      size_t *length)
{
    const char *stop = NULL;

    if (*at == end)
        return false;
    *line = *at;
    stop = memchr(*at, '\n', (size_t)(end - *at));
    *at = stop == NULL ? end : stop + 1;
    *length = (size_t)((stop == NULL ? end : stop) - *line);
    while (*length > 0 && strchr(" \t\r", (*line)[*length - 1]) != NULL &&
           (*line)[*length - 1] != '\0')
        (*length)--;
    return true;
}

static bool is_line(const char *line, size_t length, const char *wanted)
{
    return length == strlen(wanted) && memcmp(line, wanted, length) == 0;
}

/* What has been decoded, and the digits that do not make a byte yet. */
typedef struct decoder {
    uint8_t der[WARPRSA_REFERENCE_DER_MAX];
    size_t bytes;
    uint32_t pending;
    unsigned digits; /* of the present group of four, padding among them */
    unsigned padding;
} decoder;

/* Takes one character in. False: it isn't base64 there, or too much. */
static bool decode(decoder *to, char c)
{
    const int value = value_of(c);

    if (value < 0 ? c != '=' || to->digits < 2 : to->padding > 0)
        return false;
    to->padding += value < 0;
    to->pending = to->pending << 6 | (uint32_t)(value < 0 ? 0 : value);
    if (++to->digits < 4)
        return true;
    if (to->padding > 2 || to->bytes + 3 - to->padding > sizeof(to->der) ||
        (to->pending & ((1U << 8 * to->padding) - 1)) != 0)
        return false;
    for (unsigned i = 0; i < 3 - to->padding; i++)
        to->der[to->bytes++] = (uint8_t)(to->pending >> (16 - 8 * i));
    to->pending = 0;
    to->digits = 0;
    return true;
}

const char *warprsa_reference_read_pem(warprsa_reference *out, const char *text,
                                       size_t length)
{
    const char *at = text, *end = text + length, *line = NULL;
    size_t line_length = 0;
    decoder body;

    memset(out, 0, sizeof(*out));
    memset(&body, 0, sizeof(body));
    if (!take_line(&at, end, &line, &line_length) ||
        !is_line(line, line_length, begin_line))
        return "no line with BEGIN";
    while (take_line(&at, end, &line, &line_length)) {
        if (is_line(line, line_length, end_line)) {
            if (at != end)
                return "something after the line with END";
            return body.digits != 0
                       ? "not base64"
                       : warprsa_reference_read(out, body.der, body.bytes);
        }
        for (size_t i = 0; i < line_length; i++)
            if (!decode(&body, line[i]))
                return "not base64, or too long";
    }
    return "no line with END";
}

static char *put_group(char *to, const uint8_t *from, size_t count)
{
    const uint32_t group = (uint32_t)from[0] << 16 |
                           (count > 1 ? (uint32_t)from[1] << 8 : 0) |
                           (count > 2 ? from[2] : 0);

    for (unsigned i = 0; i < 4; i++)
        *to++ = i > count ? '=' : digits[group >> (18 - 6 * i) & 0x3f];
    return to;
}

size_t warprsa_reference_write_pem(const warprsa_reference *reference,
                                   char *text, size_t room)
{
    uint8_t der[WARPRSA_REFERENCE_DER_MAX];
    const size_t size = warprsa_reference_write(reference, der, sizeof(der));
    const size_t characters = (size + 2) / 3 * 4;
    const size_t length = sizeof(begin_line) + sizeof(end_line) + characters +
                          (characters + LINE - 1) / LINE;
    char *at = text;

    if (size == 0 || length >= room)
        return 0;
    at = (char *)put((uint8_t *)at, begin_line, sizeof(begin_line) - 1);
    *at++ = '\n';
    for (size_t i = 0; i < size; i += 3) {
        at = put_group(at, der + i, size - i < 3 ? size - i : 3);
        if ((i + 3) % (LINE / 4 * 3) == 0 || i + 3 >= size)
            *at++ = '\n';
    }
    at = (char *)put((uint8_t *)at, end_line, sizeof(end_line) - 1);
    *at++ = '\n';
    *at = '\0';
    return (size_t)(at - text);
}
