# The Debian package: what is in it, and what lintian says.

package() {
    deploy/deb.sh && ls "$BUILD"/deb/kindex_*.deb
}
check 'make deb makes a package' package
deb=$(ls "$BUILD"/deb/kindex_*.deb)

# Lines "mode owner path" of a package's files.
contents() {
    dpkg-deb -c "$1" | awk '$1 !~ /^d/ { print $1, $2, $6 }' | LC_ALL=C sort -k 3
}
expected() {
    cat <<'END'
-rw-r--r-- root/root ./etc/default/kindex
-rw-r--r-- root/root ./lib/systemd/system/kindex.service
-rwxr-xr-x root/root ./usr/bin/kindex
-rw-r--r-- root/root ./usr/share/bash-completion/completions/kindex
-rw-r--r-- root/root ./usr/share/doc/kindex/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/api/access/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/api/cli/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/api/identity/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/api/kvconnect/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/api/rest/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/api/s3/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/changelog.gz
-rw-r--r-- root/root ./usr/share/doc/kindex/copyright
-rw-r--r-- root/root ./usr/share/doc/kindex/deploy/CHANGELOG.md
-rw-r--r-- root/root ./usr/share/doc/kindex/deploy/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/deploy/berkeley-db.md
-rw-r--r-- root/root ./usr/share/doc/kindex/deploy/survive.md
-rw-r--r-- root/root ./usr/share/doc/kindex/deploy/threats.md
-rw-r--r-- root/root ./usr/share/doc/kindex/openapi.yaml
-rw-r--r-- root/root ./usr/share/doc/kindex/src/backup/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/src/encryption/README.md
-rw-r--r-- root/root ./usr/share/doc/kindex/src/indexes/README.md
-rw-r--r-- root/root ./usr/share/lintian/overrides/kindex
-rw-r--r-- root/root ./usr/share/man/man1/kindex.1.gz
-rw-r--r-- root/root ./usr/share/zsh/vendor-completions/_kindex
END
}
holds() {
    diff <(expected) <(contents "$deb")
}
check 'the package has its files, with their modes' holds

depends() {
    dpkg-deb -f "$deb" Depends | tr ',' '\n' | grep -qE "^ *$1( |$)"
}
for library in libc6 libdb5.3 libjansson4 libnghttp2-14 adduser; do
    check "the package depends on $library" depends "$library"
done
# What the image installs is what the program needs.
image_has() {
    local name
    for name in $(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g' | tr -d ' ' |
        tr ',' '\n' | grep -vx 'adduser\|libc6'); do
        grep -qE "^image +([^ ]*/)?$name[ /]" deploy/packages ||
            { echo "deploy/packages has no image row for $name"; return 1; }
    done
}
check 'the image has the libraries that the package depends on' image_has

same_version() {
    local version date
    version=$(sed -n 's/^#define KX_VERSION "\(.*\)"$/\1/p' src/kindex.h)
    date=$(sed -nE 's/^#define KX_DATE "([^"]*)".*/\1/p' src/kindex.h)
    [ "$(dpkg-deb -f "$deb" Version)" = "$version" ] &&
        [ "$(dpkg-parsechangelog -l deploy/debian/changelog -S Version)" = "$version" ] &&
        [ "$(date -ud "$(dpkg-parsechangelog -l deploy/debian/changelog -S Date)" +%F)" = "$date" ]
}
check 'the changelog of the package has the version and the date of the program' same_version

unpacked() {
    dpkg-deb -R "$deb" "$work/deb" && cd "$work/deb" && md5sum -c --quiet DEBIAN/md5sums
}
check 'md5sums has the sums of the package' unpacked

lint() {
    lintian --allow-root --pedantic --display-info \
        --fail-on error,warning,info,pedantic "$1"
}
check 'lintian finds nothing in the package' lint "$deb"

# The package with one thing changed. flawed NAME COMMAND...
flawed() {
    local name=$1
    shift
    rm -rf "$work/flawed"
    cp -a "$work/deb" "$work/flawed"
    (cd "$work/flawed" && "$@") &&
        dpkg-deb --root-owner-group -b "$work/flawed" "$work/$name.deb" >"$work/built"
}
flawed no-page rm usr/share/man/man1/kindex.1.gz
refuses 'lintian finds that a manual page is missing' lint "$work/no-page.deb"
flawed writable chmod 666 etc/default/kindex
refuses 'lintian finds a file that all may write' lint "$work/writable.deb"

# ---- The maintainer's scripts ----------------------------------------------

for script in postinst prerm postrm; do
    check "$script is a script" sh -n "$work/deb/DEBIAN/$script"
done

# ---- make install -----------------------------------------------------------

installed() {
    make -s --no-print-directory install BUILD="$BUILD" \
        PREFIX="$work/usr" DESTDIR="$1"
}
places() {
    installed "" && (cd "$work/usr" && find . -type f | LC_ALL=C sort) | diff <(
        printf '%s\n' ./bin/kindex ./etc/default/kindex \
            ./lib/systemd/system/kindex.service \
            ./share/bash-completion/completions/kindex \
            ./share/doc/kindex/README.md \
            ./share/doc/kindex/api/access/README.md \
            ./share/doc/kindex/api/cli/README.md \
            ./share/doc/kindex/api/identity/README.md \
            ./share/doc/kindex/api/kvconnect/README.md \
            ./share/doc/kindex/api/rest/README.md \
            ./share/doc/kindex/api/s3/README.md \
            ./share/doc/kindex/copyright \
            ./share/doc/kindex/deploy/CHANGELOG.md \
            ./share/doc/kindex/deploy/README.md \
            ./share/doc/kindex/deploy/berkeley-db.md \
            ./share/doc/kindex/deploy/survive.md \
            ./share/doc/kindex/deploy/threats.md \
            ./share/doc/kindex/openapi.yaml \
            ./share/doc/kindex/src/backup/README.md \
            ./share/doc/kindex/src/encryption/README.md \
            ./share/doc/kindex/src/indexes/README.md \
            ./share/man/man1/kindex.1.gz ./share/zsh/site-functions/_kindex) -
}
check 'make install puts everything below PREFIX' places
below_destdir() {
    installed "$work/dest" && [ -x "$work/dest$work/usr/bin/kindex" ]
}
check 'make install puts everything below DESTDIR' below_destdir
keeps_settings() {
    echo 'KINDEX_LOOPS=2' >"$work/usr/etc/default/kindex"
    installed "" && [ "$(cat "$work/usr/etc/default/kindex")" = KINDEX_LOOPS=2 ] &&
        rm "$work/usr/etc/default/kindex" && installed ""
}
check 'a second make install keeps the settings' keeps_settings
