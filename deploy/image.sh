#!/bin/sh
# Prepares a bare Debian for the compiled service: its libraries, and a user
# and a separate data directory (the Dockerfile's second stage).
set -eu
"$(dirname "$0")/packages.sh" image
getent group kindex >/dev/null || groupadd --gid 10001 kindex
getent passwd kindex >/dev/null ||
    useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home \
        --shell /usr/sbin/nologin kindex
install -d -m 700 -o kindex -g kindex /data
