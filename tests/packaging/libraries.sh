# Compares the table of linked libraries with the program, and its facts with the
# changelogs of Debian's packages. Sourced by run.sh, which sets $BUILD and $work.
. deploy/release/libraries.sh

# The packages of the libraries that the program links, dynamically or statically.
linked() {
    local name file
    {
        readelf -d "$BUILD/kindex" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' | while read -r name; do
            file=$(ldd "$BUILD/kindex" | awk -v "name=$name" '$1 == name { print $3 }')
            dpkg-query -S "$file" "/usr$file" "$(realpath "$file")" 2>"$work/null" | head -n 1
        done | cut -d : -f 1
        printf '%s\n' libmicrohttpd-dev uthash-dev
        dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' 'libboost-context1.*-dev' | sed -n 's/^ii *//p'
    } | LC_ALL=C sort -u
}
# described FILE: the packages of its table. Debian 13 has other names for some.
described() {
    sed -n 's/^| \([a-z0-9.+-]*\) | [0-9].*/\1/p' "$1" | LC_ALL=C sort -u
}
same_libraries() {
    linked >"$work/linked"
    described "$1" | diff - "$work/linked" && [ -s "$work/linked" ]
}
# repaired FILE: lines "package CVE", from the column of repairs in Debian.
repaired() {
    awk -F ' *[|] *' '$3 ~ /^[0-9]/ { n = split($5, each, " ")
        for (i = 1; i <= n; i++) print $2, each[i] }' "$1"
}
# in_changelogs FILE: each repair is in the changelog of the installed package.
in_changelogs() {
    local package cve count=0
    while read -r package cve; do
        zgrep -q "$cve" "/usr/share/doc/$package/changelog.Debian.gz" ||
            { echo "$package: $cve is not in its changelog"; return 1; }
        count=$((count + 1))
    done < <(repaired "$1")
    [ "$count" -gt 20 ]
}
# The versions of Debian 12; those of another Debian and a system without changelogs differ.
versions() {
    local package version
    while read -r package version; do
        [[ $(dpkg-query -W -f '${Version}' "$package:$(dpkg --print-architecture)") =~ ^([0-9]+:)?"$version" ]] ||
            { echo "$package is not $version"; return 1; }
    done < <(sed -n 's/^| \([a-z0-9.+-]*\) | \([0-9][0-9.]*\) .*/\1 \2/p' "$1")
}
if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ]; then
    table=deploy/libraries.md
    check 'the table of libraries has what the program links, and nothing else' same_libraries $table
    grep -v '^| zlib1g ' $table >"$work/short.md"
    refuses 'planted: a library that the table leaves out is found' same_libraries "$work/short.md"
    check 'the table of libraries has the versions of Debian 12' versions $table
    if [ -e /usr/share/doc/libc6/changelog.Debian.gz ]; then
        check 'what the table calls repaired is in the changelogs of Debian' in_changelogs $table
        sed 's/CVE-2018-25032/CVE-2018-99999/' $table >"$work/wrong.md"
        refuses 'planted: a repair that Debian does not have is found' in_changelogs "$work/wrong.md"
    fi
fi
