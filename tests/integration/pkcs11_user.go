// SPDX-License-Identifier: Apache-2.0

// Signs by a key of a token through github.com/miekg/pkcs11, for pkcs11_go.sh:
//
//	pkcs11_user MODULE KEY THREADS EACH MESSAGE DIRECTORY
//
// writes a signature of the message, SHA-256 with PKCS #1 padding, for each
// time that each goroutine signs it, and one with PSS for each goroutine.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/miekg/pkcs11"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func find(ctx *pkcs11.Ctx, session pkcs11.SessionHandle,
	label string) pkcs11.ObjectHandle {
	check(ctx.FindObjectsInit(session, []*pkcs11.Attribute{
		pkcs11.NewAttribute(pkcs11.CKA_CLASS, pkcs11.CKO_PRIVATE_KEY),
		pkcs11.NewAttribute(pkcs11.CKA_LABEL, label),
	}))
	found, _, err := ctx.FindObjects(session, 2)
	check(err)
	check(ctx.FindObjectsFinal(session))
	if len(found) != 1 {
		check(fmt.Errorf("%d keys %s", len(found), label))
	}
	return found[0]
}

func sign(ctx *pkcs11.Ctx, session pkcs11.SessionHandle,
	mechanism *pkcs11.Mechanism, key pkcs11.ObjectHandle, message []byte,
	file string) {
	check(ctx.SignInit(session, []*pkcs11.Mechanism{mechanism}, key))
	signature, err := ctx.Sign(session, message)
	check(err)
	check(os.WriteFile(file, signature, 0o600))
}

func main() {
	threads, err := strconv.Atoi(os.Args[3])
	check(err)
	each, err := strconv.Atoi(os.Args[4])
	check(err)
	message, err := os.ReadFile(os.Args[5])
	check(err)
	ctx := pkcs11.New(os.Args[1])
	if ctx == nil {
		check(fmt.Errorf("no module %s", os.Args[1]))
	}
	check(ctx.Initialize())
	slots, err := ctx.GetSlotList(true)
	check(err)
	pkcs1 := pkcs11.NewMechanism(pkcs11.CKM_SHA256_RSA_PKCS, nil)
	pss := pkcs11.NewMechanism(pkcs11.CKM_SHA256_RSA_PKCS_PSS,
		pkcs11.NewPSSParams(pkcs11.CKM_SHA256, pkcs11.CKG_MGF1_SHA256, 32))
	var group sync.WaitGroup
	for i := 0; i < threads; i++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			session, err := ctx.OpenSession(slots[0], pkcs11.CKF_SERIAL_SESSION)
			check(err)
			key := find(ctx, session, os.Args[2])
			name := filepath.Join(os.Args[6], strconv.Itoa(number))
			for j := 0; j < each; j++ {
				sign(ctx, session, pkcs1, key, message,
					fmt.Sprintf("%s-%d.pkcs1", name, j))
			}
			sign(ctx, session, pss, key, message, name+".pss")
			check(ctx.CloseSession(session))
		}(i)
	}
	group.Wait()
	check(ctx.Finalize())
	ctx.Destroy()
}
