#!/bin/bash
# The README's tour and its chapter on indexes: each of their commands is run, in
# order, on a new store and must answer what stands below it.
. "$(dirname "$0")/../lib/http.sh"
start_server
K=$url

# The lines between ``` of these chapters.
tour() {
    awk '/^## / { on = $0 == "## Tour" || $0 == "## Indexes" } /^```/ { block = !block; next }
         on && block' "$(dirname "$0")/../../README.md"
}

commands=0
command=
expected=

# Runs the command read last and compares.
finish_command() {
    [ -n "$command" ] || return 0
    local got
    got=$(curl() { command curl -s "$@"; }; eval "$command")
    test_case "$command"
    is answer "$got" "$expected"
    commands=$((commands + 1))
}

while IFS= read -r line; do
    case $line in
    '$ '*)
        finish_command
        command=${line#'$ '}
        expected=
        ;;
    *) expected=${expected:+$expected$'\n'}$line ;;
    esac
done < <(tour)
finish_command

test_case 'the tour has its commands'
is count "$([ "$commands" -ge 15 ] && echo enough)" enough
finish
