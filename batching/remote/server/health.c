/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The service grpc.health.v1.Health; see health.h.
 */
#include "batching/remote/server/health.h"

#include <string.h>

#include "batching/remote/wire/protobuf.h"

/* HealthCheckResponse.ServingStatus */
enum {
    SERVING = 1,
    NOT_SERVING = 2,
    SERVICE_UNKNOWN = 3,
};

bool warprsa_health_is_path(const char *path, bool *watches)
{
    *watches = strcmp(path, "/grpc.health.v1.Health/Watch") == 0;
    return *watches || strcmp(path, "/grpc.health.v1.Health/Check") == 0;
}

static bool is_text(const warprsa_protobuf_field *f, const char *text)
{
    return f->size == strlen(text) && memcmp(f->bytes, text, f->size) == 0;
}

const char *warprsa_health_message(warprsa_health *h, const uint8_t *bytes,
                                   size_t size)
{
    warprsa_protobuf_reader in = {bytes, bytes + size};
    warprsa_protobuf_found found;
    warprsa_protobuf_field f;

    if (h->asked)
        return "a second question";
    h->asked = true;
    h->known = true;
    while ((found = warprsa_protobuf_next(&in, &f)) == WARPRSA_PROTOBUF_FIELD)
        if (f.number == 1) {
            h->asks_configuration =
                f.is_bytes && is_text(&f, "warprsa.configuration");
            h->known =
                h->asks_configuration ||
                (f.is_bytes &&
                 (f.size == 0 || is_text(&f, "warprsa.v1.PrivateOperations")));
        }
    return found == WARPRSA_PROTOBUF_END ? NULL : "a malformed question";
}

void warprsa_health_half_closed(warprsa_health *h)
{
    if (!h->asked)
        warprsa_http2_finish(h->stream, WARPRSA_GRPC_INVALID_ARGUMENT,
                             "no question");
}

void warprsa_health_tell(warprsa_health *h, const warprsa_health_state *state)
{
    const bool good =
        h->asks_configuration ? state->configured : state->serving;
    const int status = !h->known ? SERVICE_UNKNOWN
                       : good    ? SERVING
                                 : NOT_SERVING;
    const uint8_t message[] = {0, 0, 0, 0, 2, 1 << 3, (uint8_t)status};
    uint8_t *to;

    if (!h->asked || h->told == status)
        return;
    if (!h->known && !h->watches) {
        warprsa_http2_finish(h->stream, WARPRSA_GRPC_NOT_FOUND,
                             "no such service");
        return;
    }
    to = warprsa_http2_reserve(h->stream, sizeof(message));
    if (to == NULL)
        return; /* tried again at the next turn */
    h->told = status;
    memcpy(to, message, sizeof(message));
    warprsa_http2_sent(h->stream, sizeof(message));
    if (!h->watches)
        warprsa_http2_finish(h->stream, WARPRSA_GRPC_OK, "");
}
