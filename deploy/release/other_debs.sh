#!/bin/bash
# Makes the Debian packages of a release that this Debian does not make: of the other
# Debian, and for arm64 of both, by Debian's cross compilers. Each is made in a separate
# system (debian.sh), so that this one stays as it is. What is compiled for arm64 is
# tried under qemu-user: the unit tests, and stories that use most of the program.
# What cannot be had here is left out, with a line that says so.
#   other_debs.sh SOURCES.tar DIRECTORY [SUITE-ARCHITECTURE...]
set -eu
cd "$(dirname "$0")/../.."
sources=$(realpath "$1") out=$(realpath "$2")
shift 2
. deploy/release/debian.sh
stories='10-first-steps 14-values 15-typed-values 30-list 40-atomic 54-declare 61-aggregates 85-backup 90-restart'
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null || ! unshare --mount --pid --fork true; then
    echo "release: left out: packages of the other Debian and for arm64, as root and debootstrap are needed"
    exit 0
fi
if [ "$(dpkg --print-architecture)" != amd64 ] || [[ ! $own =~ ^(bookworm|trixie)$ ]]; then
    echo "release: left out: other packages, which are made on Debian 12 or 13, amd64"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

# The rows of deploy/packages for compiling, of which libraries are of that architecture.
cross_packages() {
    echo crossbuild-essential-arm64 dpkg-dev make qemu-user-static libcmocka-dev:arm64 curl jq nodejs zstd
    awk '$1 == "build" && $2 !~ /^(gcc|libc6-dev|uthash-dev)$/ {
        print $2 ($2 ~ /-dev$/ ? ":arm64" : "") }' deploy/packages
    echo uthash-dev
}

# made DIRECTORY COMMAND: shows what a command in a system said only if it fails.
made() {
    inside "$1" 0:0 "export SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH && cd /root/kindex && $2" >"$work/log" 2>&1 ||
        { tail -n 60 "$work/log" >&2; return 1; }
}

# Sets $system to a system of $suite with the sources and what compiles them.
system_of() { # ARCHITECTURE
    local install='apt-get install -q -y --no-install-recommends'
    system=$work/$suite-$1
    new "$system" && mkdir "$system/root/kindex" &&
        tar -xf "$sources" -C "$system/root/kindex" --strip-components 1 || return
    case $1 in
    amd64) made "$system" "apt-get update -q && $install make && deploy/packages.sh build deb" ;;
    arm64) made "$system" "dpkg --add-architecture arm64 && apt-get update -q &&
        $install $(cross_packages | tr '\n' ' ')" ;;
    esac
}

# A script for each program, under its name, that runs it in the emulator.
emulated() {
    cat >"$system/root/emulated" <<'END'
while read -r program; do
    mv "$program" "$program.arm64"
    printf '#!/bin/sh\nexec /usr/bin/qemu-aarch64-static "%s.arm64" "$@"\n' "$(realpath "$program")" >"$program"
    chmod 755 "$program"
done
END
}

# On Debian 13 only the stories: its cmocka has other views of the unit tests.
try_arm64() {
    local tests=''
    if [ "$suite" = bookworm ]; then
        tests=$(cd "$system/root/kindex" && find tests/unit -name '*_test.c' | LC_ALL=C sort |
            sed 's|^tests/|build/|; s|\.c$||' | tr '\n' ' ')
        made "$system" "CROSS=arm64 deploy/release/compile.sh . $tests" || return
    fi
    emulated
    made "$system" "printf '%s\n' $tests build/kindex | sh /root/emulated" || return
    if [ -n "$tests" ]; then
        made "$system" "tests/unit/run.sh $tests" || return
        echo "release: $suite arm64: unit tests: $(tail -n 1 "$work/log")"
    fi
    made "$system" "tests/http/run.sh $(printf 'tests/http/%s.sh ' $stories)" || return
    echo "release: $suite arm64: stories: $(tail -n 1 "$work/log")"
}

# Makes the package of $suite for an architecture.
package() {
    local number package name
    local CROSS='' with=''
    if [ "$1" = arm64 ]; then
        CROSS=arm64 with='DEB_HOST_ARCH=arm64 RUNS=/root/runs'
        printf '#!/bin/sh\nexec /usr/bin/qemu-aarch64-static /root/kindex/build/kindex "$@"\n' >"$system/root/runs"
        chmod 755 "$system/root/runs"
    fi
    made "$system" "CROSS=$CROSS deploy/release/compile.sh . all && $with BUILD=build deploy/deb.sh" || return
    number=$(. "$system/etc/os-release" && echo "${VERSION_ID%%.*}")
    package=$(echo "$system"/root/kindex/build/deb/kindex_*_"$1".deb)
    name=${package##*/}
    cp "$package" "$out/${name%_*}_debian${number}_$1.deb"
}

[ $# -gt 0 ] || set -- bookworm-amd64 trixie-amd64 bookworm-arm64 trixie-arm64
for name in "$@"; do
    suite=${name%-*} architecture=${name#*-}
    [ "$name" != "$own-amd64" ] || continue
    if ! system_of "$architecture"; then
        echo "release: left out: the package of $suite for $architecture, as its system could not be made"
        continue
    fi
    package "$architecture"
    [ "$architecture" != arm64 ] || try_arm64
    rm -rf --one-file-system "$system"
done
