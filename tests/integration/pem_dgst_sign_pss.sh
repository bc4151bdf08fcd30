#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An ordinary PEM key signs with PSS padding.
. "$(dirname "$0")/lib.sh"

echo "to be signed" >message
for bits in 1024 2048 2050 4096; do
    rsa_key "$bits" key.pem
    with_provider dgst -sha256 -sigopt rsa_padding_mode:pss \
        -sigopt rsa_pss_saltlen:digest -sign key.pem -out sig message
    plain dgst -sha256 -sigopt rsa_padding_mode:pss \
        -sigopt rsa_pss_saltlen:digest -verify key.pem.pub \
        -signature sig message
    expect_engine "$bits" 1
done
