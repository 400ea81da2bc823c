#!/bin/sh
# Installs the Debian packages of the given uses (rows of deploy/packages) that
# are missing. Says what and why before; asks nothing; does nothing and says
# nothing when all are there.
#
#   deploy/packages.sh build test
set -eu
table=$(dirname "$0")/packages

[ $# -gt 0 ] || { echo "usage: $0 USE..." >&2; exit 2; }

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "kindex: this is not Debian, so nothing is installed;" \
         "the packages needed are listed in deploy/packages" >&2
    exit 0
fi

# One line "package|command|reason" for each row of the uses, once per package.
rows() {
    awk -v uses=" $* " '
        /^#/ || NF == 0 { next }
        index(uses, " " $1 " ") == 0 || seen[$2]++ { next }
        {
            command = ""; first = 3
            if ($3 ~ /^\[.*\]$/) { command = substr($3, 2, length($3) - 2); first = 4 }
            reason = ""
            for (i = first; i <= NF; i++) reason = reason (reason == "" ? "" : " ") $i
            print $2 "|" command "|" reason
        }' "$table"
}

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' |
            awk '$2 == "installed" { print $1 }')

# One line "package reason" for each that is missing.
missing() {
    rows "$@" | while IFS='|' read -r package command reason; do
        [ -n "$command" ] && command -v "$command" >/dev/null && continue
        printf '%s\n' "$installed" |
            grep -qxF "$(printf '%s' "$package" | tr / '\n')" ||
            printf '  %-20s %s\n' "$package" "$reason"
    done
}

why=$(missing "$@")
[ -n "$why" ] || exit 0
missing=$(printf '%s\n' "$why" | awk '{ printf " %s", $1 }')

printf 'Kindex needs these Debian packages, which are not installed:\n%s\n' "$why"
sudo=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "You are not root and there is no sudo. As root, run" >&2
        echo "  apt-get update && apt-get install$missing" >&2
        exit 1
    fi
    sudo=sudo
    [ -t 0 ] || sudo="sudo -n"
fi
echo "Installing them: $sudo apt-get install$missing" | tr -s ' '

export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_get() {
    if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get "$@" \
            >"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        echo "kindex: apt-get $1 failed" >&2
        exit 1
    fi
}

# Of several names of a package the one that this Debian has, now that apt knows.
named() {
    for package in $missing; do
        for name in $(echo "$package" | tr / ' '); do
            if apt-cache show --no-all-versions "$name" >"$log" 2>&1; then
                break
            fi
        done
        echo "$name"
    done
}

# Some packages would start services, which a build or a test does not need.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap '$sudo rm -f $policy; rm -f "$log"' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\nexit 101\n' | $sudo tee $policy >"$log"
    $sudo chmod 755 $policy
fi
apt_get update -q
# shellcheck disable=SC2046 # a list of words
apt_get install -q -y --no-install-recommends $(named)
