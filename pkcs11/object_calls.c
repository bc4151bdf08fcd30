/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * PKCS #11: object management.
 */
#include <stdlib.h>

#include "pkcs11/attributes.h"
#include "pkcs11/call.h"
#include "pkcs11/reading.h"

enum {
    FIRST_ROOM = 16, /* of handles that a search finds */
};

/* A template whose pointers may be followed. Values of length 0 need none. */
static bool is_readable(const CK_ATTRIBUTE *template, CK_ULONG count)
{
    if (template == NULL)
        return count == 0;
    for (CK_ULONG i = 0; i < count; i++)
        if (template[i].pValue == NULL && template[i].ulValueLen > 0)
            return false;
    return true;
}

/* ---- attributes ---- */

CK_RV C_GetAttributeValue(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                          CK_ATTRIBUTE *template, CK_ULONG count)
{
    warprsa_object_kind kind;
    warprsa_entry *entry = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (template == NULL || count == 0)
        return warprsa_call_end(&call, CKR_ARGUMENTS_BAD);
    entry = warprsa_objects_find(&call.library->objects, object, &kind);
    rv = entry == NULL ? CKR_OBJECT_HANDLE_INVALID
                       : warprsa_attributes_read(entry, kind, template, count);
    warprsa_entry_release(entry);
    return warprsa_call_end(&call, rv);
}

/* What is refused for an object that there is. */
static CK_RV refuse(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                    CK_RV why)
{
    warprsa_object_kind kind;
    warprsa_entry *entry = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    entry = warprsa_objects_find(&call.library->objects, object, &kind);
    rv = entry == NULL ? CKR_OBJECT_HANDLE_INVALID : why;
    warprsa_entry_release(entry);
    return warprsa_call_end(&call, rv);
}

/* The three have CKA_MODIFIABLE, CKA_COPYABLE and CKA_DESTROYABLE false. */
CK_RV C_SetAttributeValue(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                          CK_ATTRIBUTE *template, CK_ULONG count)
{
    (void)template, (void)count;
    return refuse(session, object, CKR_ACTION_PROHIBITED);
}

CK_RV C_CopyObject(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                   CK_ATTRIBUTE *template, CK_ULONG count,
                   CK_OBJECT_HANDLE *copy)
{
    (void)template, (void)count, (void)copy;
    return refuse(session, object, CKR_ACTION_PROHIBITED);
}

CK_RV C_DestroyObject(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object)
{
    return refuse(session, object, CKR_ACTION_PROHIBITED);
}

CK_RV C_GetObjectSize(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object,
                      CK_ULONG *size)
{
    CK_RV rv = refuse(session, object, CKR_OK);

    if (rv != CKR_OK)
        return rv;
    if (size == NULL)
        return CKR_ARGUMENTS_BAD;
    *size = CK_UNAVAILABLE_INFORMATION;
    return CKR_OK;
}

/* ---- searches ---- */

typedef struct searching {
    warprsa_search *search;
    const CK_ATTRIBUTE *template;
    CK_ULONG count;
    bool failed; /* no memory */
} searching;

static bool add_handle(warprsa_search *search, CK_OBJECT_HANDLE handle)
{
    if (search->count == search->room) {
        const CK_ULONG room = search->room == 0 ? FIRST_ROOM : search->room * 2;
        CK_OBJECT_HANDLE *more = realloc(search->handles, room * sizeof(*more));

        if (more == NULL)
            return false;
        search->handles = more;
        search->room = room;
    }
    search->handles[search->count++] = handle;
    return true;
}

static bool look_at(void *arg, CK_OBJECT_HANDLE handle,
                    const warprsa_entry *entry, warprsa_object_kind kind)
{
    searching *s = arg;

    if (warprsa_attributes_match(entry, kind, s->template, s->count))
        s->failed = !add_handle(s->search, handle);
    return !s->failed;
}

static CK_RV search(warprsa_call *call, const CK_ATTRIBUTE *template,
                    CK_ULONG count)
{
    searching s = {
        .search = &call->session->search,
        .template = template,
        .count = count,
    };
    CK_RV rv = warprsa_reading_update(call->library);

    if (rv != CKR_OK)
        return rv;
    warprsa_objects_each(&call->library->objects, look_at, &s);
    if (s.failed) {
        warprsa_search_end(s.search);
        return CKR_HOST_MEMORY;
    }
    s.search->active = true;
    return CKR_OK;
}

CK_RV C_FindObjectsInit(CK_SESSION_HANDLE session, CK_ATTRIBUTE *template,
                        CK_ULONG count)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (!is_readable(template, count))
        rv = CKR_ARGUMENTS_BAD;
    else if (call.session->search.active)
        rv = CKR_OPERATION_ACTIVE;
    else
        rv = search(&call, template, count);
    return warprsa_call_end(&call, rv);
}

CK_RV C_FindObjects(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE *objects,
                    CK_ULONG most, CK_ULONG *count)
{
    warprsa_search *search = NULL;
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    search = &call.session->search;
    if (!search->active)
        return warprsa_call_end(&call, CKR_OPERATION_NOT_INITIALIZED);
    if (count == NULL || (objects == NULL && most > 0))
        return warprsa_call_end(&call, CKR_ARGUMENTS_BAD);
    *count = 0;
    while (*count < most && search->told < search->count)
        objects[(*count)++] = search->handles[search->told++];
    return warprsa_call_end(&call, CKR_OK);
}

CK_RV C_FindObjectsFinal(CK_SESSION_HANDLE session)
{
    warprsa_call call;
    CK_RV rv = warprsa_call_begin(&call, session);

    if (rv != CKR_OK)
        return rv;
    if (call.session->search.active)
        warprsa_search_end(&call.session->search);
    else
        rv = CKR_OPERATION_NOT_INITIALIZED;
    return warprsa_call_end(&call, rv);
}
