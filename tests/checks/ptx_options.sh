#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No option beside the PTX in the GPU engine has the driver refuse it. The driver
# compiles PTX with the options that ptxas was given at the build, and one that
# makes a warning an error would keep a GPU from working.
#
#   tests/checks/ptx_options.sh ENGINE
#
# ENGINE: warprsa-cuda.so
set -euo pipefail
engine=$1

# The control: the options can be read in this file.
grep -aqe '--warn-on-spills' "$engine" || {
    echo "ptx_options: no option of ptxas is found in $engine" >&2
    exit 1
}
if found=$(grep -aoe '-*[a-z-]*-as-error' "$engine" | sort -u); then
    echo "ptx_options: beside the PTX in $engine: $found" >&2
    exit 1
fi
echo "no option beside PTX makes a warning an error"
