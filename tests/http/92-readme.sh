#!/bin/bash
# The commands in the documents: each README.md is followed alone, on a new store.
# Every command of its plain blocks (``` without a language) is run in order and must
# answer what stands below it. Commands may start servers of their own, at $one and $two.
. "$(dirname "$0")/../lib/http.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
KINDEX=$(realpath "$KINDEX")

# The lines of a document's plain blocks that begin with a command.
plain_blocks() {
    awk '/^```/ { inside = !inside; plain = $0 == "```"; begun = 0; next }
         inside && plain { begun = begun || /^\$ /; if (begun) print }' "$1"
}

documents() {
    find "$top/README.md" "$top/src" "$top/api" "$top/deploy" -name node_modules -prune -o -name '*.md' -print | sort
}

# What the documents call by their names.
curl() { command curl -s "$@"; }
# A server replaces its subshell, so that $! is the server itself.
kindex() {
    [ "$1" != serve ] || exec "$KINDEX" "$@"
    "$KINDEX" "$@"
}

free_ports 2
read -r one two <<<"$found"
one=127.0.0.1:$one two=127.0.0.1:$two
# Servers that a document has started and not stopped, as when one of its commands fails.
end_servers() {
    local pid
    for pid in $(jobs -rp); do
        [ "$pid" = "$server" ] || kill -KILL "$pid" 2>"$work/null"
    done
}
end_all() {
    [ "$BASHPID" = "$$" ] || return # not in a subshell
    end_servers
    leave
}
trap end_all EXIT

commands=0
command=
expected=

# Runs the command read last, in the story's own shell, and compares.
finish_command() {
    [ -n "$command" ] || return 0
    test_case "$document: $command"
    eval "$command" >"$work/said" 2>&1 </dev/null
    is answer "$(cat "$work/said")" "$expected"
    commands=$((commands + 1))
}

follow() {
    local line
    document=${1#"$top/"}
    command=
    while IFS= read -r line <&3; do
        case $line in
        '$ '*)
            finish_command
            command=${line#'$ '}
            expected=
            ;;
        *) expected=${expected:+$expected$'\n'}$line ;;
        esac
    done 3< <(plain_blocks "$1")
    finish_command
}

while IFS= read -r readme <&4; do
    [ -n "$(plain_blocks "$readme")" ] || continue
    unset KINDEX_TOKEN
    start_server
    K=$url
    export KINDEX_URL=$url
    mkdir -p "$work/here"
    cd "$work/here" || exit 1
    follow "$readme"
    end_servers
    cd "$top" || exit 1
    stop_server
    rm -rf "$work/here" "$work/data"
done 4< <(documents)

# Relative links and pictures of a document that lead to no file.
broken_links() {
    local target
    # A command's answer is no link.
    awk '/^```/ { inside = !inside } !inside' "$1" | grep -oE '\]\([^)# ]+' | sed 's/^](//; /:/d' |
        while read -r target; do
            [ -e "$(dirname "$1")/$target" ] || echo "${1#"$top/"}: $target"
        done
}
test_case 'each link of a document leads to a file'
is links "$(while IFS= read -r readme; do broken_links "$readme"; done < <(documents))" ''
mkdir "$work/linked"
echo '[a](none.md) [b](https://example.org) ![c](none.svg)' >"$work/linked/a.md"
is 'planted links' "$(broken_links "$work/linked/a.md" | wc -l)" 2

test_case 'each document has commands that were run'
is count "$([ "$commands" -ge 40 ] && echo enough || echo "only $commands")" enough
finish
