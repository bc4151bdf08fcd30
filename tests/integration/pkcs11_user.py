# SPDX-License-Identifier: Apache-2.0
"""Uses a key of a token through PyKCS11, for pkcs11_python.sh.

    pkcs11_user.py MODULE list
    pkcs11_user.py MODULE sign KEY MECHANISM INPUT OUTPUT
    pkcs11_user.py MODULE decrypt KEY INPUT OUTPUT
    pkcs11_user.py MODULE threads KEY THREADS EACH DIRECTORY
"""
import pathlib
import sys
import threading

import PyKCS11

MECHANISMS = {
    "SHA256_RSA_PKCS": PyKCS11.Mechanism(PyKCS11.CKM_SHA256_RSA_PKCS, None),
    "SHA384_RSA_PKCS": PyKCS11.Mechanism(PyKCS11.CKM_SHA384_RSA_PKCS, None),
    "RSA_X_509": PyKCS11.Mechanism(PyKCS11.CKM_RSA_X_509, None),
    "SHA256_RSA_PKCS_PSS": PyKCS11.RSA_PSS_Mechanism(
        PyKCS11.CKM_SHA256_RSA_PKCS_PSS, PyKCS11.CKM_SHA256,
        PyKCS11.CKG_MGF1_SHA256, 32),
}
OAEP = PyKCS11.RSAOAEPMechanism(PyKCS11.CKM_SHA256, PyKCS11.CKG_MGF1_SHA256)


def find(session, kind, label):
    """The object of this class and label, which must be one."""
    found = session.findObjects(
        [(PyKCS11.CKA_CLASS, kind), (PyKCS11.CKA_LABEL, label)])
    assert len(found) == 1, found
    return found[0]


def sign_many(slot, lib, key, each, output, errors):
    """Signs messages in a session of this thread's own."""
    try:
        session = lib.openSession(slot)
        private = find(session, PyKCS11.CKO_PRIVATE_KEY, key)
        for i in range(each):
            signature = session.sign(
                private, output.name + str(i), MECHANISMS["SHA256_RSA_PKCS"])
            output.with_name(output.name + f"-{i}.sig").write_bytes(
                bytes(signature))
        session.closeSession()
    except Exception as error:  # told by the thread that has begun this one
        errors.append(error)


def main():
    """Does what the command line says."""
    module, command, *rest = sys.argv[1:]
    lib = PyKCS11.PyKCS11Lib()
    lib.load(module)
    slot = lib.getSlotList(tokenPresent=True)[0]
    session = lib.openSession(slot)
    if command == "list":
        for item in session.findObjects():
            values = session.getAttributeValue(
                item, [PyKCS11.CKA_CLASS, PyKCS11.CKA_LABEL])
            print(PyKCS11.CKO[values[0]], values[1])
    elif command == "sign":
        key = find(session, PyKCS11.CKO_PRIVATE_KEY, rest[0])
        text = pathlib.Path(rest[2]).read_bytes()
        signature = session.sign(key, text, MECHANISMS[rest[1]])
        pathlib.Path(rest[3]).write_bytes(bytes(signature))
        public = find(session, PyKCS11.CKO_PUBLIC_KEY, rest[0])
        assert session.verify(public, text, signature, MECHANISMS[rest[1]])
    elif command == "decrypt":
        key = find(session, PyKCS11.CKO_PRIVATE_KEY, rest[0])
        text = session.decrypt(key, pathlib.Path(rest[1]).read_bytes(), OAEP)
        pathlib.Path(rest[2]).write_bytes(bytes(text))
    elif command == "threads":
        errors = []
        threads = [
            threading.Thread(target=sign_many, args=(
                slot, lib, rest[0], int(rest[2]),
                pathlib.Path(rest[3]) / f"thread{i}", errors))
            for i in range(int(rest[1]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors
    else:
        raise SystemExit(__doc__)


main()
