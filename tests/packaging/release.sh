# A release: made twice it is the same, byte for byte, and its parts work. The program
# is the one of the test, and of compiling it only some objects are tried; `make
# release` compiles all of it.

# released DIRECTORY: a release there, made at another place and under another mask.
ssh-keygen -q -t ed25519 -N '' -C test -f "$work/signing" </dev/null
ssh-keygen -q -t ed25519 -N '' -C test -f "$work/stranger" </dev/null
released() {
    mkdir -p "$work/$1/tmp" &&
        (umask 077 && TMPDIR=$work/$1/tmp BUILD=$work/$1 SIGNING_KEY=$work/signing deploy/release.sh "$BUILD/kindex")
}
check 'make release makes a release' released first
check 'make release makes a second release' released second
release=$work/first/release
version=$(git show HEAD:src/kindex.h | sed -n 's/^#define KX_VERSION "\(.*\)"$/\1/p')

check 'two releases of one commit are equal' diff -r "$release" "$work/second/release"
check 'SHA256SUMS has the sums of the release' env -C "$release" sha256sum --check --quiet SHA256SUMS
summed() {
    diff <(cd "$release" && ls | grep -vx 'SHA256SUMS\(.sig\)*') <(awk '{ print $2 }' "$release/SHA256SUMS")
}
check 'each file of the release has a sum' summed
# signed KEY SUMS
signed() {
    printf 'release %s' "$(cat "$work/$1.pub")" >"$work/signers"
    ssh-keygen -Y verify -f "$work/signers" -I release -n kindex-release -s "$release/SHA256SUMS.sig" <"$2"
}
check 'the sums are signed with the key of the release' signed signing "$release/SHA256SUMS"
refuses 'a signature by another key is refused' signed stranger "$release/SHA256SUMS"
sed '1s/^./x/' "$release/SHA256SUMS" >"$work/changed"
refuses 'planted: a changed sum is found' signed signing "$work/changed"

# The statement has each file with its sum, the commit, the compiler and the locked packages.
statement() {
    local file=$release/kindex-$version-$(dpkg --print-architecture).provenance.json
    diff <(jq -r '.subject[] | "\(.digest.sha256)  \(.name)"' "$file" | sort) \
        <(grep -v '\.provenance\.json$' "$release/SHA256SUMS" | sort) &&
        jq -e --arg commit "$(git rev-parse HEAD)" --arg gcc "gcc-12@$(dpkg-query -W -f '${Version}' gcc-12)" '
            .predicate.buildDefinition.resolvedDependencies as $all |
            ($all[0].digest.gitCommit == $commit) and
            any($all[]; .uri // "" | contains($gcc)) and
            any($all[]; .uri // "" | contains("/libmicrohttpd-dev@")) and
            any($all[]; .name == "api/clients/typescript/package-lock.json")' "$file"
}
check 'the provenance has each file, the commit, compiler, libraries and locked packages' statement

# compiled DIRECTORY COMMAND...: objects of a tree in that directory.
compiled() {
    mkdir -p "$work/$1" && tar -xzf "$release/kindex-$version.tar.gz" -C "$work/$1" \
        --strip-components 1 && "${@:2}" "$work/$1" build/src/base/bytes.o build/api/main.o
}
plainly() {
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$1" "${@:2}" BUILD=build
}
same_objects() {
    cmp "$work/$1/build/src/base/bytes.o" "$work/$2/build/src/base/bytes.o" &&
        cmp "$work/$1/build/api/main.o" "$work/$2/build/api/main.o"
}
check 'the sources of a release compile' compiled here deploy/release/compile.sh
check 'the sources of a release compile at another place' compiled elsewhere/deep deploy/release/compile.sh
check 'sources give the same objects at every place' same_objects here elsewhere/deep
compiled plain plainly
refuses 'planted: an object that names its place is found' same_objects here plain

# The rows of the table, each with a story that proves it.
compatible() {
    local what of story count=0
    while IFS='|' read -r _ what of story _; do
        story=$(tr -d ' `' <<<"$story")
        what=$(sed 's/^ *//; s/ *$//' <<<"$what")
        grep -qE "^ *proves ('$what'|$what) " "tests/http/$story.sh" ||
            { echo "$story does not prove: $what $of"; return 1; }
        count=$((count + 1))
    done < <(grep '^| .* | `[0-9]' "$1")
    [ $count -gt 5 ]
}
check 'each row of the table of compatibility has a story that proves it' compatible deploy/compatibility.md
sed 's/^| backup /| dump /' deploy/compatibility.md >"$work/more.md"
refuses 'planted: a row that no story proves is found' compatible "$work/more.md"
compatibility_in_notes() {
    diff <(grep '^| ' deploy/compatibility.md) <(grep '^| ' "$release/NOTES.md")
}
check 'the notes of a release have the table of compatibility' compatibility_in_notes
notes() {
    head -n 1 "$release/NOTES.md" | grep -q "^## $version " &&
        grep -q "^\* $(git rev-parse --short=12 HEAD) " "$release/NOTES.md"
}
check 'the notes of a release have its changes and its last commit' notes
npm_packages() {
    local package
    for package in kindex kindex-adapters; do
        tar -xOzf "$release/$package-$version.tgz" package/package.json |
            jq -e --arg version "$version" '.version == $version' || return
        tar -tzf "$release/$package-$version.tgz" | grep -q '/dist/esm/.*\.js$' || return
    done
}
check 'the npm packages have the version, and code' npm_packages
npm_program() {
    local architecture
    architecture=$(node -p process.arch)
    mkdir -p "$work/npm" && tar -xzf "$release/kindex-server-$version.tgz" -C "$work/npm" &&
        jq -e --arg version "$version" '.version == $version' "$work/npm/package/package.json" &&
        dpkg-deb -x "$release/kindex_${version}"_debian*_"$(dpkg --print-architecture)".deb "$work/npm" &&
        cmp "$work/npm/usr/bin/kindex" "$work/npm/package/programs/linux-$architecture" &&
        [ "$("$work/npm/package/command.js" version)" = "kindex $version" ]
}
check 'the npm package with the program has the one of the Debian package' npm_program
libraries() {
    dpkg-deb -f "$release"/*.deb Depends | sed 's/([^)]*)//g' | tr -d ' ' | tr , '\n' |
        grep -vxE 'adduser|libc6|ca-certificates' | sort >"$work/needs"
    sed -n '/^apt-get install/,/^```/p' "$1" | grep -oE 'z?lib[^ ]+' | sort | diff "$work/needs" -
}
if [ "$(. /etc/os-release && echo "$VERSION_ID")" = 12 ]; then
    check 'its README names the libraries that the Debian package needs' libraries "$work/npm/package/README.md"
    sed 's/libpq5 //' "$work/npm/package/README.md" >"$work/few.md"
    refuses 'planted: a README without a library is found' libraries "$work/few.md"
fi
wheel() {
    [ "$(PYTHONPATH=$(echo "$release"/*.whl) /usr/bin/python3 -c \
        'import importlib.metadata, kindex; print(importlib.metadata.version("kindex"))')" = "$version" ]
}
check 'the Python package can be imported, and has the version' wheel

# With neither debootstrap nor anything else but three tools.
lacking() {
    local tool
    mkdir -p "$work/tools" "$work/others"
    for tool in dirname realpath id; do ln -sf "$(type -P $tool)" "$work/tools/"; done
    PATH=$work/tools "$BASH" deploy/release/other_debs.sh LICENSE "$work/others" >"$work/left" &&
        grep -q '^release: left out: packages of the other Debian and for arm64' "$work/left" &&
        [ -z "$(ls "$work/others")" ]
}
check 'packages that cannot be made here are left out, and a line says so' lacking

# ---- The image ----------------------------------------------------------------

image=$work/image
mkdir -p "$image/root"
tar -xf "$release"/*.oci.tar -C "$image"
# blob DIGEST
blob() {
    echo "$image/blobs/${1/://}"
}
intact() {
    local file
    for file in "$image"/blobs/sha256/*; do
        [ "$(sha256sum <"$file" | cut -d ' ' -f 1)" = "${file##*/}" ] || return
    done
}
check 'the blobs of the image have their digests' intact
manifest=$(blob "$(jq -r '.manifests[0].digest' "$image/index.json")")
layer=$(blob "$(jq -r '.layers[0].digest' "$manifest")")
config=$(blob "$(jq -r '.config.digest' "$manifest")")
sizes() {
    jq -e --argjson layer "$(stat -c %s "$layer")" --argjson config "$(stat -c %s "$config")" \
        '.layers[0].size == $layer and .config.size == $config' "$manifest"
}
check 'the parts of the image have their sizes' sizes
unpacked() {
    [ "sha256:$(zcat "$layer" | sha256sum | cut -d ' ' -f 1)" = "$(jq -r '.rootfs.diff_ids[0]' "$config")" ]
}
check 'the layer of the image has the digest of its contents' unpacked
tar -xzf "$layer" -C "$image/root" --no-same-owner
owned() {
    tar --numeric-owner -tvzf "$layer" | grep -qE '^drwx------ 10001/10001 .* \./data/$'
}
check 'the directory of the data is its user'\''s' owned

# inside COMMAND...: becomes that command in the image, as its user where that can
# be; so it is called in a subshell.
inside() {
    if [ "$(id -u)" -eq 0 ]; then
        chown 10001:10001 "$image/root/data"
        exec chroot --userspec=10001:10001 "$image/root" "$@"
    fi
    exec unshare --map-root-user chroot "$image/root" "$@"
}
serves() {
    local server status=1 command
    export KINDEX_DATA=/data KINDEX_LISTEN=127.0.0.1:0
    readarray -t command < <(jq -r '.config.Entrypoint[], .config.Cmd[]' "$config")
    inside "/usr/bin/${command[0]}" "${command[@]:1}" --port-file /data/port &
    server=$!
    while [ ! -s "$image/root/data/port" ] && kill -0 $server; do sleep 0.05; done
    url=http://127.0.0.1:$(cat "$image/root/data/port")
    (inside /usr/bin/kindex ready --url "$url") &&
        [ "$(curl -s -o "$work/out" -w '%{http_code}' "$url/kv/a")" = 401 ] &&
        curl -sf --oauth2-bearer "$(cat "$image/root/data/token")" -X PUT "$url/kv/a" --json 1 &&
        status=0
    kill -TERM "$server"
    wait "$server" && return $status
}
check 'the image serves' serves
incomplete() {
    rm "$image"/root/usr/lib/*/libdb-5.3.so && (inside /usr/bin/kindex --version)
}
refuses 'planted: an image without a library does not serve' incomplete

# ---- What it is made of --------------------------------------------------------

spdx=$(echo "$release"/*.spdx.json)
complete() {
    jq -e '.spdxVersion == "SPDX-2.3" and
        ([.packages[].SPDXID] | length == (unique | length)) and
        ([.packages[].SPDXID] as $ids | [.relationships[].relatedSpdxElement] - $ids == [])' \
        "$1" >"$work/spdx" || return
    dpkg-deb -f "$release"/*.deb Depends | sed 's/([^)]*)//g' | tr -d ' ' | tr , '\n' |
        grep -vx adduser | sort >"$work/depends"
    jq -r '.packages[].name' "$1" | sort | comm -23 "$work/depends" - >"$work/lacking"
    [ -s "$work/depends" ] && [ ! -s "$work/lacking" ]
}
check 'the SPDX document has what the package depends on' complete "$spdx"
jq 'del(.packages[] | select(.name == "libdb5.3"))' "$spdx" >"$work/short.json"
refuses 'planted: a document without a library is found' complete "$work/short.json"
