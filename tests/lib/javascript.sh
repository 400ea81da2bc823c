#!/bin/bash
# Unpacks Debian 12's own Node and npm below build/javascript where the machine's node or
# npm are others, so that tests see what a user of Debian 12 has. tests/lib/path.sh puts
# them first in PATH. Needs the packages of the use `test` (deploy/packages) and no root.
# Says nothing and does nothing when they are there already; on another Debian, which
# does not have them, it says so, and the tests use the machine's.
set -eu
cd "$(dirname "$0")/../.."
place=$PWD/build/javascript
root=$place/root

# Is the first node in PATH Debian 12's, and the first npm?
are_debians() {
    [ "$(realpath "$(type -P node)" "$(type -P npm)" 2>/dev/null)" = "$1" ] &&
        dpkg-query -W -f '${Package} ${Version}\n' nodejs npm 2>/dev/null |
        awk '/^nodejs 18\..*dfsg/ { node = 1 } /^npm 9\.2\.0~ds/ { npm = 1 } END { exit !(node && npm) }'
}
if are_debians $'/usr/bin/node\n/usr/share/nodejs/npm/bin/npm-cli.js'; then
    rm -rf "$place"
    exit 0
fi
[ ! -e "$place/complete" ] || exit 0
if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" != bookworm ]; then
    echo "tests: Debian 12's Node and npm cannot be had here; JavaScript runs in $(type -P node)"
    exit 0
fi

rm -rf "$place"
mkdir -p "$place/bin" "$root" "$place/archives/partial" "$place/state/lists/partial"
echo "unpacking Debian's nodejs and npm below build/javascript, as this machine has others"

# What apt would install if the machine had no Node yet, nor anything that needs it.
awk -v RS= -v ORS='\n\n' '
    { stanza[NR] = $0; name[NR] = $2 }
    match($0, /\nDepends: [^\n]*/) { needs[NR] = substr($0, RSTART + 10, RLENGTH - 10) }
    END {
        gone["nodejs"]; gone["npm"]
        for (before = -1; before < length(gone); ) {
            before = length(gone)
            for (i = 1; i <= NR; i++) {
                count = split(needs[i], words, /[,|] */)
                for (j = 1; j <= count; j++) {
                    sub(/[ :].*/, "", words[j])
                    if (words[j] in gone) gone[name[i]]
                }
            }
        }
        for (i = 1; i <= NR; i++) if (!(name[i] in gone)) print stanza[i]
    }' /var/lib/dpkg/status >"$place/status"
printf 'Package: nodejs\nPin: version 18.*\nPin-Priority: 1001\n' >"$place/preferences"
apt_get() {
    apt-get -q -y -o Debug::NoLocking=true -o Dir::State::status="$place/status" \
        -o Dir::Etc::Preferences="$place/preferences" -o Dir::Cache::archives="$place/archives/" \
        "$@" >>"$place/log" 2>&1 </dev/null
}
download() {
    apt_get --no-install-recommends --download-only "$@" install nodejs npm patchelf
}
own_lists() {
    apt_get -o Dir::State="$place/state" update && download -o Dir::State="$place/state"
}
if ! download && ! own_lists; then
    cat "$place/log" >&2
    echo "tests: apt-get cannot download nodejs 18 and npm of Debian 12" >&2
    exit 1
fi
for package in "$place"/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
rm -rf "$place/archives" "$place/state" "$place/status"

# The program finds its library wherever it is started; npm finds its modules by
# NODE_PATH, since Debian's Node looks for them in /usr/share/nodejs.
patchelf=$root/usr/bin/patchelf
[ -x "$patchelf" ] || patchelf=patchelf
# shellcheck disable=SC2016 # $ORIGIN is the loader's
"$patchelf" --force-rpath --set-rpath '$ORIGIN/../lib/'"$(gcc -print-multiarch)" "$root/usr/bin/node"
ln -s ../root/usr/bin/node "$place/bin/node"
cat >"$place/bin/npm" <<END
#!/bin/sh
export NODE_PATH=$root/usr/share/nodejs
exec $root/usr/bin/node $root/usr/share/nodejs/npm/bin/npm-cli.js "\$@"
END
chmod +x "$place/bin/npm"
case $("$place/bin/node" --version)/$("$place/bin/npm" --version) in
v18.*/9.2.0) touch "$place/complete" ;;
*) echo "tests: the unpacked Node or npm does not run" >&2; exit 1 ;;
esac
