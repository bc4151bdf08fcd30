#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a bare chroot: builds the packages of the clean checkout in
# /packages/warprsa, and looks at them with lintian. For scripts/test-packages.
#   build.sh [OPTION OF dpkg-buildpackage...]
set -eu
cd /packages/warprsa

apt-get update -q
apt-get install -q -y --no-install-recommends dpkg-dev build-essential lintian
apt-get build-dep -q -y --no-install-recommends ./
dpkg-buildpackage -b -us -uc "$@"
lintian --fail-on error --allow-root ../*.changes
