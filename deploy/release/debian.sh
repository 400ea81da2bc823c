# Separate Debian systems, made with debootstrap in $work: for a release and its tests.
# Needs root, debootstrap and the machine's own apt sources. Sourced; $suite names the
# Debian. What is left to the caller is to remove $work (rm --one-file-system).
#
#   new DIR                      a minimal Debian
#   inside DIR USER COMMAND      runs a command in it

# The machine's own Debian mirrors, as lines "uri suite component", with the suites
# of the Debian that is tried.
mirrors() {
    apt-get indextargets \
        --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Identifier: Packages' |
        awk -v suite="$suite" -v own="$(. /etc/os-release && echo "$VERSION_CODENAME")" '
            $1 ~ /^Debian/ && index($3, own) == 1 { sub(own, suite, $3); print $2, $3, $4 }' |
        sort -u
}

# new DIR: a minimal Debian there, that can reach what this machine reaches.
new() {
    local base=$work/$suite system=$1 certificate
    [ -n "$(mirrors)" ] || apt-get update -q
    if [ ! -e "$base/complete" ]; then
        rm -rf --one-file-system "$base"
        debootstrap --variant=minbase "$suite" "$base" \
            "$(mirrors | awk -v suite="$suite" '$2 == suite { print $1; exit }')" \
            >"$work/debootstrap.log" 2>&1 ||
            { tail -20 "$work/debootstrap.log" >&2; return 1; }
        touch "$base/complete"
    fi
    rm -rf --one-file-system "$system"
    cp -a "$base" "$system"
    mirrors | sed 's/^/deb /' >"$system/etc/apt/sources.list"
    apt-config dump Acquire | grep -v IndexTargets \
        >"$system/etc/apt/apt.conf.d/99fresh"
    cat /etc/resolv.conf >"$system/etc/resolv.conf"
    # As Debian's installer writes it: localhost is ::1 first.
    printf '%s\n' '127.0.0.1 localhost' \
        '::1 localhost ip6-localhost ip6-loopback' >"$system/etc/hosts"
    for certificate in /usr/local/share/ca-certificates/*.crt; do
        [ ! -e "$certificate" ] ||
            install -D -m 644 -t "$system/usr/local/share/ca-certificates" \
                "$certificate"
    done
}

# inside DIR USER COMMAND: in a system, with separate mounts and processes,
# all of which end with the command.
inside() {
    unshare --mount --pid --fork --kill-child -- sh -c '
        mount -t proc proc "$0/proc"
        mkdir -p "$0/dev/shm"
        mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
        mkdir -p "$0/dev/pts"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
        rm -f "$0/dev/ptmx"
        ln -s pts/ptmx "$0/dev/ptmx"
        exec chroot --userspec="$1" "$0" /usr/bin/env -i HOME=/root \
            LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
            sh -c "$2"' "$1" "$2" "$3" </dev/null
}
