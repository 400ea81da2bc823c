#!/bin/bash
# Makes everything that a release has, of the last commit, in $BUILD/release: the
# sources, the Debian packages for Debian 12 and 13, amd64 and arm64 (as root with
# debootstrap; otherwise the one of this Debian), the npm packages, of which one has the
# programs, the Python package, an OCI image, what the program is made of (SPDX), notes,
# and the sums of all. Two runs on the same Debian are equal byte for byte, if Debian's
# packages did not change between.
#   release.sh            also compiles the program
#   release.sh PROGRAM    takes this one for it, as its test does
# SIGNING_KEY=FILE signs the sums with this SSH key (Ed25519: the signature is the same
# each time); deploy/README.md says how to check that.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || deploy/packages.sh build release
out=$(realpath -m "${BUILD:-build}/release")
tree=$(realpath -m "${BUILD:-build}/release-tree")
rm -rf "$out" "$tree"
mkdir -p "$out"
umask 022
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
revision=$(git rev-parse HEAD)
version=$(git show HEAD:src/kindex.h | sed -n 's/^#define KX_VERSION "\(.*\)"$/\1/p')
name=kindex-$version
debian=debian$(. /etc/os-release && echo "${VERSION_ID%%.*}")
architecture=$(dpkg --print-architecture)
echo "release: $name of commit $revision"

# What is not committed is left out.
mkdir "$tree"
git -c tar.umask=0022 archive --prefix="$name/" -o "$tree/sources.tar" HEAD
tar -xf "$tree/sources.tar" -C "$tree" --strip-components 1
gzip -9n <"$tree/sources.tar" >"$out/$name.tar.gz"

if [ $# -gt 0 ]; then
    install -D "$1" "$tree/build/kindex"
else
    "$tree/deploy/release/compile.sh" "$tree" all
fi

# log COMMAND...: what it says is shown only if it fails.
log() {
    "$@" >"$out/log" 2>&1 || { cat "$out/log" >&2; echo "release: $1 failed" >&2; exit 1; }
    rm "$out/log"
}
log env -C "$tree" BUILD=build deploy/deb.sh
cp "$tree/build/deb/kindex_${version}_$architecture.deb" \
    "$out/kindex_${version}_${debian}_$architecture.deb"
[ $# -gt 0 ] || env -C "$tree" deploy/release/other_debs.sh sources.tar "$out"

for package in typescript adapters; do
    log tests/lib/npm.sh "api/clients/$package"
    ln -s "$(realpath "api/clients/$package/node_modules")" "$tree/api/clients/$package/"
    log env -C "$tree/api/clients/$package" npm pack --silent --pack-destination "$out"
done
# The programs of the packages for Debian 12, or else of the one of this Debian.
programs=()
for pair in amd64=x64 arm64=arm64; do
    for number in debian12 "$debian"; do
        package=$out/kindex_${version}_${number}_${pair%=*}.deb
        [ -f "$package" ] || continue
        dpkg-deb -x "$package" "$tree/npm-${pair#*=}"
        programs+=("${pair#*=}=$tree/npm-${pair#*=}/usr/bin/kindex")
        break
    done
done
log "$tree/deploy/release/npm_server.sh" "$out" "${programs[@]}"
log env -C "$tree/api/clients/python" /usr/bin/python3 -c \
    'import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])' "$out"

cd "$tree"
deploy/release/image.sh build/kindex "$version" "$revision" \
    "$out/$name-$architecture.oci.tar"
deploy/release/sbom.sh build/kindex "$version" "$revision" \
    >"$out/$name-$architecture.spdx.json"
cd "$OLDPWD"

# The section of this version, and the commits since the previous one.
since=$(dpkg-parsechangelog -l deploy/debian/changelog --offset 1 --count 1 -S Date)
{
    git show HEAD:deploy/CHANGELOG.md |
        awk -v "version=$version" '/^## / { on = $2 == version } on'
    printf '\n### Commits\n\n'
    git log --reverse --no-merges --since="$since" --format='* %h %s' --abbrev=12
    printf '\n##'
    git show HEAD:deploy/compatibility.md
} >"$out/NOTES.md"
"$tree/deploy/release/provenance.sh" "$version" "$revision" "$out" >"$tree/provenance.json"
mv "$tree/provenance.json" "$out/$name-$architecture.provenance.json"
(cd "$out" && sha256sum -- * >sums && mv sums SHA256SUMS)
if [ -n "${SIGNING_KEY:-}" ]; then
    log ssh-keygen -q -Y sign -f "$SIGNING_KEY" -n kindex-release "$out/SHA256SUMS"
else
    echo "release: not signed: SIGNING_KEY names no key"
fi
rm -rf "$tree"
ls -l "$out"
