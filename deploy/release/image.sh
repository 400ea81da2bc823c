#!/bin/bash
# Makes an OCI image of the built program as one tarball, without Docker: the program,
# the shared libraries of this Debian that it needs with their licences, and nothing
# else. Its user, variables and command are those of the Dockerfile. What has
# SOURCE_DATE_EPOCH for a time is the same each time.
#   image.sh PROGRAM VERSION REVISION FILE
set -eu
cd "$(dirname "$0")/../.."
. deploy/release/libraries.sh
program=$1 version=$2 revision=$3 file=$4
architecture=$(dpkg --print-architecture)
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022
root=$work/root
layout=$work/layout
mkdir -p "$root"/{usr/bin,usr/lib,usr/lib64,etc/ssl/certs,tmp,var/lib/dpkg/status.d} \
    "$layout/blobs/sha256"

# ---- The files ---------------------------------------------------------------

install -m 755 -s "$program" "$root/usr/bin/kindex"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
libraries "$program" | while read -r library; do
    install -D -m 755 "$(realpath "$library")" "$root/usr/${library#/usr}"
done
# The packages as a scanner of images looks for them.
packages_of "$program" | while read -r package _; do
    install -D -m 644 "/usr/share/doc/$package/copyright" \
        "$root/usr/share/doc/$package/copyright"
    dpkg-query -s "$package:$architecture" >"$root/var/lib/dpkg/status.d/$package"
done
install -D -m 644 LICENSE "$root/usr/share/doc/kindex/copyright"
cat /usr/share/ca-certificates/mozilla/*.crt >"$root/etc/ssl/certs/ca-certificates.crt"
printf '%s\n' 'root:x:0:0:root:/root:/usr/sbin/nologin' \
    'kindex:x:10001:10001::/data:/usr/sbin/nologin' >"$root/etc/passwd"
printf '%s\n' 'root:x:0:' 'kindex:x:10001:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
chmod 1777 "$root/tmp"
cp -r "$root" "$work/data"
rm -rf "${work:?}/data"/*
mkdir -m 700 "$work/data/data"

# ---- The layer ---------------------------------------------------------------

packed() {
    tar --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner "$@"
}
packed --owner=0 --group=0 -C "$root" -cf "$work/layer.tar" .
packed --owner=10001 --group=10001 -C "$work/data" -rf "$work/layer.tar" ./data

# blob FILE: puts it among the blobs, and prints its digest.
blob() {
    local digest
    digest=$(sha256sum <"$1" | cut -d ' ' -f 1)
    cp "$1" "$layout/blobs/sha256/$digest"
    echo "sha256:$digest"
}
unpacked=sha256:$(sha256sum <"$work/layer.tar" | cut -d ' ' -f 1)
gzip -9n "$work/layer.tar"
layer=$(blob "$work/layer.tar.gz")

# ---- What describes it -------------------------------------------------------

# said INSTRUCTION: what the last stage of the Dockerfile says with it.
said() {
    sed -n '/ AS image$/,$p' Dockerfile | sed -n "s/^$1 //p"
}
jq -n -c --arg created "$created" --arg architecture "$architecture" \
    --arg version "$version" --arg revision "$revision" --arg unpacked "$unpacked" \
    --arg user "$(said USER)" --arg volume "$(said VOLUME)" --arg port "$(said EXPOSE)" \
    --arg env "$(said ENV)" --argjson entry "$(said ENTRYPOINT)" \
    --argjson command "$(said CMD)" '{
        created: $created, architecture: $architecture, os: "linux",
        config: {
            User: $user, ExposedPorts: {"\($port)/tcp": {}}, Volumes: {($volume): {}},
            Env: (["PATH=/usr/bin"] + ($env | split(" "))),
            Entrypoint: $entry, Cmd: $command,
            Healthcheck: { Test: ["CMD", "kindex", "ready"], Interval: 10000000000,
                           Timeout: 3000000000, StartPeriod: 30000000000 },
            Labels: { "org.opencontainers.image.title": "kindex",
                      "org.opencontainers.image.version": $version,
                      "org.opencontainers.image.revision": $revision } },
        rootfs: { type: "layers", diff_ids: [$unpacked] },
        history: [{ created: $created, created_by: "deploy/release/image.sh" }] }' \
    >"$work/config.json"
config=$(blob "$work/config.json")

# described MEDIA-TYPE DIGEST
described() {
    jq -n -c --arg type "application/vnd.oci.image.$1" --arg digest "$2" \
        --argjson size "$(stat -c %s "$layout/blobs/sha256/${2#sha256:}")" \
        '{ mediaType: $type, digest: $digest, size: $size }'
}
jq -n -c --argjson config "$(described config.v1+json "$config")" \
    --argjson layer "$(described layer.v1.tar+gzip "$layer")" \
    '{ schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
       config: $config, layers: [$layer] }' >"$work/manifest.json"
manifest=$(blob "$work/manifest.json")
jq -n -c --argjson manifest "$(described manifest.v1+json "$manifest")" \
    --arg version "$version" --arg architecture "$architecture" '
    { schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: [$manifest + {
        platform: { architecture: $architecture, os: "linux" },
        annotations: { "org.opencontainers.image.ref.name": $version,
                       "io.containerd.image.name": "kindex:\($version)" } }] }' \
    >"$layout/index.json"
echo '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
# The same for `docker load` before it knew layouts.
jq -n -c --arg config "blobs/sha256/${config#*:}" --arg layer "blobs/sha256/${layer#*:}" \
    --arg tag "kindex:$version" \
    '[{ Config: $config, RepoTags: [$tag], Layers: [$layer] }]' >"$layout/manifest.json"
packed --owner=0 --group=0 -C "$layout" -cf "$file" blobs index.json manifest.json oci-layout
