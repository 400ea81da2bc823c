#!/bin/sh
# Installs Deno as the tests do, and builds the SQLite peer of the benchmark:
# better-sqlite3 as locked in package-lock.json, compiled here, because its own
# install step would fetch a prebuilt binary.
#   setup.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
npm=$1/bench/npm
module=$npm/node_modules/better-sqlite3
binding=$module/build/Release/better_sqlite3.node

"$here/../lib/npm.sh" "$here/../deno"

# Some builds of Node bring their headers, Debian's has a package for them.
[ -e /usr/include/node/node.h ] || "$here/../../deploy/packages.sh" headers

defines() {
    sed -n "s/^ *'\([A-Z0-9_]*[^']*\)',\$/-D\1/p" "$1"
}

if [ -e "$binding" ] &&
    cmp -s "$here/package-lock.json" "$npm/package-lock.json"; then
    exit 0
fi
mkdir -p "$npm"
cp "$here/package.json" "$here/package-lock.json" "$npm/"
(cd "$npm" && npm_config_cache="$PWD/cache" npm ci --ignore-scripts \
    --no-audit --no-fund --loglevel=error)
mkdir -p "${binding%/*}"
echo "compiling better-sqlite3"
# shellcheck disable=SC2046 # one word for each define
gcc -O3 -fPIC -w $(defines "$module/deps/defines.gypi") \
    -c -o "$npm/sqlite3.o" "$module/deps/sqlite3/sqlite3.c"
# shellcheck disable=SC2046
g++ -O3 -fPIC -w -std=c++20 -shared \
    $(defines "$module/deps/defines.gypi") \
    -DNODE_GYP_MODULE_NAME=better_sqlite3 -DBUILDING_NODE_EXTENSION \
    -I/usr/include/node -I"$module/deps/sqlite3" \
    -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o "$binding" \
    "$module/src/better_sqlite3.cpp" "$npm/sqlite3.o"
