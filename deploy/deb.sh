#!/bin/sh
# Makes a Debian package of the built program, in $BUILD/deb.
#   BUILD=build deploy/deb.sh
# DEB_HOST_ARCH: the architecture that it was compiled for, if it is another one.
set -eu
cd "$(dirname "$0")/.."
command -v dpkg-shlibdeps >/dev/null ||
    { echo "deb.sh: the Debian package dpkg-dev is needed" >&2; exit 1; }
version=$(sed -n 's/^#define KX_VERSION "\(.*\)"$/\1/p' src/kindex.h)
architecture=${DEB_HOST_ARCH:-$(dpkg --print-architecture)}
tools=$(dpkg-architecture -f -a"$architecture" -qDEB_HOST_GNU_TYPE)-
[ "$architecture" != "$(dpkg --print-architecture)" ] || tools=
work=$BUILD/deb
root=$work/debian/kindex
umask 022
rm -rf "$work"
mkdir -p "$root/DEBIAN"

BUILD=$BUILD DESTDIR=$root PREFIX=/usr UNITS=/lib/systemd/system \
    ZSH=/usr/share/zsh/vendor-completions deploy/install.sh
"${tools}strip" --strip-unneeded -R .comment -R .note "$root/usr/bin/kindex"
documents=$root/usr/share/doc/kindex
install -m 644 deploy/debian/copyright "$documents/copyright"
gzip -9n <deploy/debian/changelog >"$documents/changelog.gz"
install -D -m 644 deploy/debian/lintian-overrides \
    "$root/usr/share/lintian/overrides/kindex"

install -m 755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm \
    "$root/DEBIAN"
echo /etc/default/kindex >"$root/DEBIAN/conffiles"
# dpkg-shlibdeps wants to be where a source package is.
cp deploy/debian/control "$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O debian/kindex/usr/bin/kindex |
            sed -n 's/^shlibs:Depends=//p')
sed -e "s|@VERSION@|$version|" -e "s|@ARCHITECTURE@|$architecture|" \
    -e "s|@LIBRARIES@|$libraries|" \
    -e "s|@SIZE@|$(du -sk --exclude=DEBIAN "$root" | cut -f 1)|" \
    -e '/^Source:/,/^$/d' deploy/debian/control >"$root/DEBIAN/control"
(cd "$root" && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' |
    LC_ALL=C sort | xargs -d '\n' md5sum >DEBIAN/md5sums)

dpkg-deb --root-owner-group -Zxz --build "$root" \
    "$work/kindex_${version}_$architecture.deb"
