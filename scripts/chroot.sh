# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Chroots of releases of Debian and Ubuntu, for tests with their OpenSSL and
# compilers; sourced, with the repository's root as the working directory.
#
# Commands run in namespaces of their own: their processes and mounts are gone
# when they end, however they end.
#
# WARPRSA_CHROOTS: where the chroots are kept, build-chroots/ unless set; one is
# made anew after it was removed. WARPRSA_MIRROR: where Debian comes from, the
# mirror in this machine's apt configuration unless set. WARPRSA_UBUNTU_MIRROR:
# where Ubuntu comes from, archive.ubuntu.com unless set; signatures are checked
# where the package ubuntu-keyring is installed.

chroots=${WARPRSA_CHROOTS:-$PWD/build-chroots}
in_namespaces=

end_namespaces() {
    [ -z "$in_namespaces" ] || kill -KILL "$in_namespaces" 2>/dev/null || :
}
trap end_namespaces EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

chroots_need() { # PROGRAM...
    local program
    [ "$(id -u)" -eq 0 ] || {
        echo "$0: only root can make and enter a chroot" >&2
        exit 1
    }
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "$0: install $program first" >&2
            exit 1
        }
    done
}

# A shell waits in the foreground for a command before it obeys a signal; hence
# this one waits in the background.
with_namespaces() { # UNSHARE-OPTION... COMMAND...
    local status=0
    unshare --mount --pid --fork --kill-child "$@" </dev/null &
    in_namespaces=$!
    wait "$in_namespaces" || status=$?
    in_namespaces=
    return "$status"
}

debian_mirror() {
    local mirror=${WARPRSA_MIRROR:-}
    # shellcheck disable=SC2016 # apt-get replaces it
    [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' \
        'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>/dev/null |
        grep '^http' | head -n 1) || :
    echo "${mirror:-http://deb.debian.org/debian}"
}

# Where the files come from is this machine's configuration, too: proxies, and
# whether a mirror may be an old one.
apt_of_this_machine() {
    apt-config dump 2>/dev/null | grep -E '^Acquire::(Check-|http)' || :
}

# Where the chroot of a suite is, with what tests have installed in it.
chroot_of() { # SUITE
    echo "$chroots/tests-$1"
}

# Makes the chroot of a suite unless it is there.
make_chroot() { # SUITE
    bootstrap "$1" "$(chroot_of "$1")" --include=iproute2,ccache
}

# Copies a suite's chroot in which nothing was ever installed; no service is
# started in the copy.
copy_bare_chroot() { # SUITE ROOT
    bootstrap "$1" "$chroots/bare-$1"
    cp -a "$chroots/bare-$1" "$2"
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
    chmod 755 "$2/usr/sbin/policy-rc.d"
}

# debootstrap has one script for all releases of Ubuntu, which an old debootstrap
# knows by the name of an old release alone.
bootstrap() { # SUITE ROOT DEBOOTSTRAP-OPTION...
    local suite=$1 root=$2 from
    shift 2
    [ ! -d "$root" ] || return 0
    chroots_need debootstrap unshare
    case "$suite" in
    noble)
        from=("${WARPRSA_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}" gutsy)
        set -- --components=main,universe "$@"
        ;;
    *) from=("$(debian_mirror)") ;;
    esac
    echo "== A chroot of $suite from ${from[0]}"
    mkdir -p "$chroots"
    rm -rf --one-file-system "$root.new"
    with_namespaces debootstrap --variant=minbase "$@" "$suite" "$root.new" \
        "${from[@]}" >"$root.log" 2>&1 || {
        tail -n 5 "$root.log" >&2
        echo "$0: debootstrap failed, see $root.log" >&2
        exit 1
    }
    # Debian's releases get what was mended in place.
    [ "$suite" != noble ] ||
        printf 'deb %s %s main universe\n' "${from[0]}" noble-updates \
            "${from[0]}" noble-security >>"$root.new/etc/apt/sources.list"
    # It is lost with its machine anyway.
    echo force-unsafe-io >"$root.new/etc/dpkg/dpkg.cfg.d/unsafe-io"
    apt_of_this_machine >"$root.new/etc/apt/apt.conf.d/90machine"
    mv "$root.new" "$root"
}

# The CUDA toolkit of this machine, where it is a folder of its own: as NVIDIA's
# installer leaves it, not as packages spread it over /usr.
cuda_toolkit() {
    local nvcc
    nvcc=$(realpath -e "$(command -v nvcc)" 2>/dev/null) || return 0
    case "$nvcc" in
    /usr/bin/nvcc) ;;
    */bin/nvcc) echo "${nvcc%/bin/nvcc}" ;;
    esac
}

# Runs a command as root. With --net the network is not this machine's but one
# that has a loopback interface only: the ports of servers are free there. With
# --cuda this machine's CUDA toolkit is there, at the same place.
in_chroot() { # [--net] [--cuda] ROOT COMMAND...
    local net=() cuda=
    while :; do
        case "$1" in
        --net) net=(--net) ;;
        --cuda) cuda=$(cuda_toolkit) ;;
        *) break ;;
        esac
        shift
    done
    cp -L /etc/resolv.conf "$1/etc/resolv.conf"
    # shellcheck disable=SC2016 # the inner shell replaces them
    with_namespaces --ipc "${net[@]}" sh -ec '
        net=$1
        cuda=$2
        shift 2
        mount -t proc proc "$1/proc"
        [ -z "$cuda" ] || {
            mkdir -p "$1$cuda"
            mount --bind -o ro "$cuda" "$1$cuda"
        }
        mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$1/dev/shm"
        mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$1/tmp"
        [ -z "$net" ] || chroot "$1" ip link set lo up
        path=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin
        exec env -i PATH="$path${cuda:+:$cuda/bin}" \
            HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            ${WARPRSA_TEST_SCALE:+WARPRSA_TEST_SCALE="$WARPRSA_TEST_SCALE"} \
            ${http_proxy:+http_proxy="$http_proxy"} \
            ${DEB_BUILD_OPTIONS:+DEB_BUILD_OPTIONS="$DEB_BUILD_OPTIONS"} \
            chroot "$@"' \
        sh "${net[*]}" "$cuda" "$@"
}

# Copies the work tree, as git sees it, to ROOT/src. Build directories there stay,
# and files keep their times, so that only what has changed is built again.
copy_source() { # ROOT
    mkdir -p "$1/src"
    find "$1/src" -mindepth 1 -maxdepth 1 ! -name 'build*' -exec rm -rf {} +
    comm -z -23 \
        <(git ls-files -z --cached --others --exclude-standard | sort -zu) \
        <(git ls-files -z --deleted | sort -zu) |
        tar -cf - --null --files-from=- | tar -xf - -C "$1/src"
}
