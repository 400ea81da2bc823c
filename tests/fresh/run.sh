#!/bin/bash
# Tries both commands, `make run` and `make test`, on a fresh Debian 12: a
# chroot with nothing in it but a minimal system, git and make, and a clone of
# the last commit. Needs root, debootstrap and the machine's own apt sources.
#   tests/fresh/run.sh [run] [test]     one or both, both by default
# FRESH_DIR is where the system is made (a new directory, removed at the end,
# by default); FRESH_BASE is kept and used again instead of debootstrap.
set -eu
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- run test

if [ -n "${FRESH_DIR:-}" ]; then
    mkdir -p "$FRESH_DIR"
    work=$FRESH_DIR
else
    work=$(mktemp -d)
    trap 'rm -rf --one-file-system "$work"' EXIT
fi
base=${FRESH_BASE:-$work/base}
system=$work/system

# The machine's own Debian mirrors, as lines "uri suite component".
mirrors() {
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Identifier: Packages' |
        awk '$1 ~ /^Debian/ && $3 ~ /^bookworm/ { print $2, $3, $4 }' | sort -u
}

[ -n "$(mirrors)" ] || apt-get update -q
if [ ! -x "$base/usr/bin/make" ]; then
    echo "fresh: making a minimal Debian 12 with git and make"
    debootstrap --variant=minbase --include=git,make bookworm "$base" \
        "$(mirrors | awk '$2 == "bookworm" { print $1; exit }')" \
        >"$work/debootstrap.log" 2>&1 ||
        { tail -20 "$work/debootstrap.log" >&2; exit 1; }
fi

rm -rf --one-file-system "$system"
cp -a "$base" "$system"
mirrors | sed 's/^/deb /' >"$system/etc/apt/sources.list"
apt-config dump Acquire | grep -v IndexTargets >"$system/etc/apt/apt.conf.d/99fresh"
cat /etc/resolv.conf >"$system/etc/resolv.conf"
echo "127.0.0.1 localhost" >"$system/etc/hosts"
for certificate in /usr/local/share/ca-certificates/*.crt; do
    [ ! -e "$certificate" ] ||
        install -D -m 644 -t "$system/usr/local/share/ca-certificates" "$certificate"
done
git clone -q --no-hardlinks . "$system/root/kindex"

# Its own mounts and processes; all of them end with the command.
inside() {
    unshare --mount --pid --fork --kill-child -- sh -c '
        mount -t proc proc "$0/proc"
        mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" 2>/dev/null ||
            { mkdir -p "$0/dev/shm"; mount -t tmpfs tmpfs "$0/dev/shm"; }
        exec chroot "$0" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
            sh -c "cd /root/kindex && $*"' "$system" "$@" </dev/null
}

failed=0
for command in "$@"; do
    started=$SECONDS
    case $command in
    run) inside tests/fresh/try-run.sh || failed=1 ;;
    *) inside "make $command" || failed=1 ;;
    esac
    echo "fresh: make $command took $((SECONDS - started)) s"
done
[ $failed = 0 ] && echo "fresh: ok" || { echo "fresh: FAILED"; exit 1; }
