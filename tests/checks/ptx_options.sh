#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No option beside the PTX of kernels has the driver refuse it. The driver
# compiles PTX with the options that ptxas was given at the build, and one that
# makes a warning an error would keep a GPU from working.
#
#   tests/checks/ptx_options.sh FILE...
#
# FILE: object files of kernels, or an engine, with PTX; a build for this
# machine's GPU alone (-Dgpu_architectures=native) has none.
set -euo pipefail

# The control: options can be read in such a file.
grep -aqe '--warn-on-spills' "$@" || {
    echo "ptx_options: no option of ptxas is found in these files" >&2
    exit 1
}
if found=$(grep -aohe '-*[a-z-]*-as-error' "$@" | sort -u); then
    echo "ptx_options: there are options beside PTX: $found" >&2
    exit 1
fi
echo "$# files: no option beside PTX makes a warning an error"
