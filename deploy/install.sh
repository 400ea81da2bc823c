#!/bin/sh
# Installs the built program with everything that belongs to it: manual page,
# completion, systemd unit, documents, and a file of settings in which each one
# stands with its default. All below $DESTDIR; the settings in /etc when the
# rest goes into /usr or /usr/local.
#   BUILD=build PREFIX=/usr/local DESTDIR= deploy/install.sh
# A package names other places: UNITS, ZSH; and, where this machine cannot run the
# program, a script that does: RUNS.
set -eu
cd "$(dirname "$0")/.."
program=$BUILD/kindex
runs=${RUNS:-$program}
case $PREFIX in
/usr | /usr/local) etc=/etc ;;
*) etc=$PREFIX/etc ;;
esac
units=${UNITS:-$PREFIX/lib/systemd/system}
functions=${ZSH:-$PREFIX/share/zsh/site-functions}
documents=$PREFIX/share/doc/kindex
settings=$etc/default/kindex

# put FILE: standard input becomes that file, whole or not at all.
put() {
    mkdir -p "$(dirname "$DESTDIR$1")"
    cat >"$DESTDIR$1.part"
    chmod 644 "$DESTDIR$1.part"
    mv "$DESTDIR$1.part" "$DESTDIR$1"
}

install -D -m 755 "$program" "$DESTDIR$PREFIX/bin/kindex"
"$runs" man | gzip -9n | put "$PREFIX/share/man/man1/kindex.1.gz"
"$runs" completion bash |
    put "$PREFIX/share/bash-completion/completions/kindex"
"$runs" completion zsh | put "$functions/_kindex"
sed -e "s|@PREFIX@|$PREFIX|g" -e "s|@ETC@|$etc|g" deploy/kindex.service.in |
    put "$units/kindex.service"
# The documents link to each other as they lie in the source tree.
for page in README.md openapi.yaml api/rest/README.md api/kvconnect/README.md api/access/README.md api/identity/README.md \
    api/cli/README.md api/s3/README.md src/indexes/README.md src/backup/README.md src/encryption/README.md \
    deploy/README.md deploy/survive.md deploy/threats.md deploy/berkeley-db.md deploy/CHANGELOG.md; do
    put "$documents/$page" <"$page"
done
put "$documents/copyright" <LICENSE
# What an administrator has changed stays.
[ -e "$DESTDIR$settings" ] ||
    deploy/settings.sh "$runs" | put "$settings"
