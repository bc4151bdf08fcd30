// SPDX-License-Identifier: Apache-2.0

// Signs by a key of a token as a crypto.Signer of
// github.com/ThalesIgnite/crypto11, for pkcs11_go.sh:
//
//	pkcs11_crypto11 MODULE KEY THREADS EACH MESSAGE DIRECTORY
//
// writes a signature of the message, SHA-256 with PKCS #1 padding, for each
// time that each goroutine signs it, and one with PSS for each goroutine.
package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/ThalesIgnite/crypto11"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func sign(key crypto.Signer, hash []byte, opts crypto.SignerOpts,
	file string) {
	signature, err := key.Sign(rand.Reader, hash, opts)
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
	context, err := crypto11.Configure(&crypto11.Config{
		Path:              os.Args[1],
		TokenLabel:        "warprsa",
		LoginNotSupported: true,
	})
	check(err)
	key, err := context.FindKeyPair(nil, []byte(os.Args[2]))
	check(err)
	if key == nil {
		check(fmt.Errorf("no key %s", os.Args[2]))
	}
	hash := sha256.Sum256(message)
	pss := &rsa.PSSOptions{
		SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: crypto.SHA256}
	var group sync.WaitGroup
	for i := 0; i < threads; i++ {
		group.Add(1)
		go func(number int) {
			defer group.Done()
			name := filepath.Join(os.Args[6], strconv.Itoa(number))
			for j := 0; j < each; j++ {
				sign(key, hash[:], crypto.SHA256,
					fmt.Sprintf("%s-%d.pkcs1", name, j))
			}
			sign(key, hash[:], pss, name+".pss")
		}(i)
	}
	group.Wait()
	check(context.Close())
}
