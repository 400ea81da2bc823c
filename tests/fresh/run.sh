#!/bin/bash
# Tries Kindex on a fresh Debian 12 and 13, chroots made with debootstrap: `make run`
# and `make test` with nothing there but a minimal system, git, make and a
# clone of the last commit; the Debian package, built in one system, installed,
# used, removed and purged in another; and the Dockerfile, step by step without
# Docker. Needs root, debootstrap and the machine's own apt sources.
#   tests/fresh/run.sh [bookworm] [trixie] [run] [test] [deb] [image]
# Without a name of a Debian both are tried, without a part all parts; on Debian 13
# the tests are not tried, as its clang-format and compilers have other views of the
# code. The Dockerfile names its Debian.
# FRESH_DIR is where the systems are made (a new directory, removed at the end,
# by default); with it the minimal system is kept and used again. DEB names a
# package that is tried instead of one built from the last commit.
set -eu
cd "$(dirname "$0")/../.."
suites=()
parts=()
for word in "$@"; do
    case $word in
    bookworm | trixie) suites+=("$word") ;;
    *) parts+=("$word") ;;
    esac
done
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)

if [ -n "${FRESH_DIR:-}" ]; then
    mkdir -p "$FRESH_DIR"
    work=$(realpath "$FRESH_DIR")
else
    work=$(mktemp -d)
    trap 'rm -rf --one-file-system "$work"' EXIT
fi

. deploy/release/debian.sh

# prepared DIR: a new system with git, make and a clone of the last commit.
prepared() {
    new "$1" || return 1
    inside "$1" 0:0 'apt-get update -q &&
        apt-get install -q -y --no-install-recommends git make' \
        >"$work/install.log" 2>&1 || { tail -20 "$work/install.log"; return 1; }
    git clone -q --no-hardlinks . "$1/root/kindex"
}

try_commands() {
    local system=$work/system
    prepared "$system" || return 1
    case $1 in
    run) inside "$system" 0:0 'cd /root/kindex && tests/fresh/try-run.sh' ;;
    test) inside "$system" 0:0 'cd /root/kindex && make test' ;;
    esac
}

# Leaves the package in $work/kindex.deb.
build_deb() {
    local builder=$work/builder
    if [ -n "${DEB:-}" ]; then
        cp "$DEB" "$work/kindex.deb"
        return
    fi
    prepared "$builder" || return 1
    inside "$builder" 0:0 'cd /root/kindex &&
        make deps-build deps-deb && make -s -j"$(nproc)" deb' \
        >"$work/deb.log" 2>&1 || { tail -20 "$work/deb.log"; return 1; }
    cp "$builder"/root/kindex/build/deb/kindex_*.deb "$work/kindex.deb"
}

try_deb() {
    local system=$work/debian
    build_deb && new "$system" || return 1
    cp "$work/kindex.deb" tests/fresh/try-deb.sh "$system/root/"
    inside "$system" 0:0 'apt-get update -q &&
        apt-get install -q -y --no-install-recommends /root/kindex.deb' \
        >"$work/install.log" 2>&1 || { tail -20 "$work/install.log"; return 1; }
    inside "$system" 0:0 'bash /root/try-deb.sh'
}

# Does what the Dockerfile says: the few instructions that it uses.
try_image() {
    local tree=$work/tree stage= instruction rest from folder=/ words
    local -A stages=()
    rm -rf "$tree"
    git clone -q --no-hardlinks . "$tree" || return 1
    while read -r instruction rest; do
        case $instruction in
        FROM)
            stage=$work/stage-${#stages[@]}
            stages[${rest##* }]=$stage
            folder=/
            echo "fresh: $instruction $rest"
            new "$stage" || return 1 ;;
        WORKDIR)
            folder=$rest
            mkdir -p "$stage$folder" ;;
        COPY)
            from=$tree
            case $rest in --from=*)
                from=${stages[$(sed -E 's/--from=([^ ]*).*/\1/' <<<"$rest")]}
                rest=${rest#* } ;;
            esac
            read -r -a words <<<"$rest"
            copy "$from" "$stage" "$folder" "${words[@]}" || return 1 ;;
        RUN)
            inside "$stage" 0:0 "cd $folder && $rest" >"$work/image.log" 2>&1 ||
                { tail -30 "$work/image.log"; return 1; } ;;
        esac
    done < <(instructions)
    local mode health command
    mode=$(stat -c %u:%g:%a "$stage/data")
    [ "$mode" = 10001:10001:700 ] || { echo "/data is $mode"; return 1; }
    health=$(instructions | sed -n 's/^HEALTHCHECK .* CMD //p')
    command=$(instructions | sed -n 's/^CMD \[\(.*\)\]$/\1/p' | tr -d '",')
    cp tests/fresh/try-image.sh "$stage/"
    inside "$stage" 10001:10001 "$(sed -n 's/^ENV /export /p' Dockerfile)
        bash /try-image.sh '$health' kindex $command"
}

# The Dockerfile with each instruction on one line.
instructions() {
    sed -e '/^#/d' -e ':a' -e '/\\$/{N;s/\\\n */ /;ba}' Dockerfile
}

# copy FROM STAGE FOLDER SOURCES... TARGET: a folder's contents, or files.
copy() {
    local from=$1 target=${*: -1} source
    case $target in /*) target=$2$target ;; *) target=$2$3/$target ;; esac
    for source in "${@:4:$#-4}"; do
        if [ -d "$from/$source" ]; then
            mkdir -p "$target"
            cp -a "$from/$source/." "$target"
        else
            install -D -t "$target" "$from/$source"
        fi
    done
}

# The parts that are tried on a Debian when none is named.
all_parts() {
    case $1 in
    bookworm) echo run test deb image ;;
    trixie) echo run deb ;;
    esac
}

failed=0
for suite in "${suites[@]}"; do
    tried=("${parts[@]}")
    # shellcheck disable=SC2207 # words
    [ ${#tried[@]} -gt 0 ] || tried=($(all_parts "$suite"))
    for name in "${tried[@]}"; do
        started=$SECONDS
        case $name in
        deb) try_deb || failed=1 ;;
        image) try_image || failed=1 ;;
        *) try_commands "$name" || failed=1 ;;
        esac
        echo "fresh: $suite $name took $((SECONDS - started)) s"
    done
done
[ $failed = 0 ] || { echo "fresh: FAILED"; exit 1; }
echo "fresh: ok"
