# The functions that stories (tests of HTTP and of the command line) are written with. A
# story sources this file, starts a server, states its cases and calls `finish`. Its server
# listens on a free port of the loopback addresses and keeps its data in a new directory.
#
#   needs PROGRAM...            fails the story at once if a program is missing
#   start_server [OPTION...]    stop_server
#   test_case "a sentence"      begins a case and ends the one before it
#   request METHOD PATH [BODY [CURL-OPTION...]]    BODY may be @file
#   answers STATUS [CODE] METHOD PATH...           sends a request; then as `expect`
#   gives FILTER TEXT METHOD PATH...               sends a request; then as `field`
#   expect STATUS [CODE]        checks the status; from 400 on the body must be a complete
#                               problem document, and X-Request-Id must be there
#   field FILTER TEXT           checks what `jq -cr FILTER` prints of the body
#   header NAME PATTERN         checks a header; '' means that it is absent
#   body_is TEXT                compares the body byte by byte
#   is WHAT GOT WANTED          checks any other value
#   until_status STATUS METHOD PATH...             repeat the request for at
#   until_field FILTER TEXT METHOD PATH...         most $patience seconds
#
# Environment: KX_PATIENCE sets $patience; KX_LIMIT is the longest time, in seconds, that a
# program of a story may run. Under sanitizers a server may use $times (KX_TIMES) as much
# memory. Under the address sanitizer and memcheck $partial is yes: a story that also runs
# without them (http-broad in run.sh) may omit cases that only take long, and repeats other
# work only KX_SHARE percent as often (some_of NUMBER). With KX_RECORD=FILE every answer is
# appended to the file as a line of JSON, for tests/openapi/responses.js.
set -u
KINDEX=${KINDEX:-$(dirname "${BASH_SOURCE[0]}")/../../build/kindex}
patience=${KX_PATIENCE:-60}
longest=${KX_LIMIT:-300}
times=${KX_TIMES:-1}
partial=${KX_PARTIAL:-no}
work=$(mktemp -d "${TMPDIR:-/tmp}/kindex-http.XXXXXX")
answer=$work/answer
head=$work/head
log=$work/log
found='' coded='' url='' server='' status='' exchange='' sentence='' held=0 broken='' passed=0 failed=0 ended=no
touch "$log" "$head" "$answer"
mkfifo "$work/never"
! grep -q __asan_init "$KINDEX" || times=4 partial=yes
trap leave EXIT

# A story without a program that it needs would wait for it in vain.
needs() {
    local program
    for program in "$@"; do
        [ -n "$(type -P "$program")" ] && continue
        echo "$program is missing: make deps-test installs what the tests need"
        exit 1
    done
}
needs curl jq node

# With ENGINE=postgresql start_server's servers keep their rows in a database of the story,
# in the cluster of run.sh or, without one, in a cluster that the story starts.
ENGINE=${ENGINE:-bdb} database='' own_cluster=no
# Starts a cluster that only this story uses, and may stop.
start_cluster() {
    own_cluster=yes
    postgres_start "$work.postgres" || exit 1
}
# Starts such a cluster with a new database; $found is its URL.
own_database() {
    . "$(dirname "${BASH_SOURCE[0]}")/postgres.sh"
    needs psql
    start_cluster
    postgres_database store || exit 1
}
use_database() {
    . "$(dirname "${BASH_SOURCE[0]}")/postgres.sh"
    [ -n "${KX_POSTGRES-}" ] || start_cluster
    postgres_database "$(basename "$work")" || exit 1
    database=$found
}
[ "$ENGINE" != postgresql ] || use_database
# With THROUGH=standby as well, requests go to a standby, which forwards them.
THROUGH=${THROUGH:-}
[ -z "$THROUGH" ] || . "$(dirname "${BASH_SOURCE[0]}")/through.sh"

# free_ports COUNT: sets $found to ports that are free now.
free_ports() {
    found=$(node -e '
        const net = require("net"), { once } = require("events");
        const open = Array.from({ length: process.argv[1] },
            () => net.createServer().listen(0, "127.0.0.1"));
        Promise.all(open.map((one) => once(one, "listening"))).then(() => {
            console.log(...open.map((one) => one.address().port));
            open.forEach((one) => one.close());
        })' "$1")
}

# ---- The server ------------------------------------------------------------

start_server() {
    rm -f "$work/port"
    [ -z "$THROUGH" ] || start_active "$@"
    [ -z "$THROUGH" ] || set -- --node standby "$@"
    [ "$ENGINE" != postgresql ] || set -- --engine "$database" "$@"
    [[ " $* " == *' --listen '* ]] || set -- --listen 0 "$@"
    "$KINDEX" serve --data "$work/data" --cache 16MiB \
        --port-file "$work/port" "$@" >"$work/greeting" 2>>"$log" &
    server=$!
    wait_until server_has_spoken
    if [ ! -s "$work/port" ]; then
        cat "$log"
        exit 1
    fi
    url=http://127.0.0.1:$(cat "$work/port")
}

# With KX_KILL=-SIGNAL the server writes what it has counted before it dies of KILL
# (tests/cover/killed.c); a process that is stopped must continue for that.
kill() {
    if [ "$1" != -KILL ] || [ -z "${KX_KILL-}" ]; then
        builtin kill "$@"
    else
        builtin kill "$KX_KILL" "${@:2}" && builtin kill -CONT "${@:2}"
    fi
}

server_has_spoken() {
    [ -s "$work/port" ] || ! kill -0 "$server" 2>"$work/null"
}

server_is_gone() {
    ! kill -0 "$server" 2>"$work/null"
}

# Sends TERM, and returns the exit status of the server.
stop_server() {
    kill -TERM "$server"
    wait_until server_is_gone || kill -KILL "$server"
    wait "$server"
    set -- $?
    server=''
    [ -z "$THROUGH" ] || stop_active
    return "$1"
}

# Waits until the command succeeds, for at most $longest seconds.
wait_until() {
    local deadline=$((SECONDS + longest))
    until "$@"; do
        [ $SECONDS -lt $deadline ] || return 1
        pass_a_moment
    done
}

# Sleeps for 30 ms without starting a program.
pass_a_moment() {
    read -rt 0.03 <>"$work/never" || :
}

some_of() {
    echo $(($1 * ${KX_SHARE:-100} / 100))
}

# ---- Exchanges -------------------------------------------------------------

request() {
    local method=$1 path=$2 body=${3-} send
    shift $(($# < 3 ? $# : 3))
    send=(--request "$method")
    [ "$method" != HEAD ] || send=(--head)
    [ -z "$body" ] || send+=(--data-binary "$body")
    exchange="$method $path ${body:0:400} $*"
    : >"$answer"
    status=$(curl --globoff --silent --show-error --path-as-is --max-time "$longest" \
        --dump-header "$head" --output "$answer" --write-out '%{http_code}' \
        "${send[@]}" "$@" "$url$path" 2>"$work/curl") || status=none
    [ "$method" != HEAD ] || : >"$answer" # curl writes the headers there
    [ -z "${KX_RECORD-}" ] || [ "$status" = none ] ||
        record "$method" "$path" >>"$KX_RECORD"
}

# Prints the answer as a line of JSON; without jq, which would take longer to start.
record() {
    local type line names='' target=${2//\\/\\\\}
    find_header Content-Type
    type=$found
    while IFS= read -r line; do
        [[ $line != *:* ]] || names+=",\"${line%%:*}\""
    done <"$head"
    printf '{"method":"%s","target":"%s","status":%s,"contentType":"%s","headers":[%s],' \
        "$1" "${target//\"/\\\"}" "${status%% *}" "${type//\"/\\\"}" "${names:1}"
    if [[ ${names,,} != *'"content-encoding"'* && $type == *json* || ! -s $answer ]]; then
        printf '"body":"'
        escaped_answer
    else
        printf '"bodyBase64":"'
        base64 -w 0 "$answer"
    fi
    printf '"}\n'
}

# find_... functions set $found, because a subshell would take longer than their work.
find_header() {
    local line value=''
    while IFS= read -r line; do
        [[ ${line,,} != "${1,,}:"* ]] || value=${line#*:}
    done <"$head"
    value=${value%$'\r'}
    found=${value# }
}

# Sets $found to the contents of a file, without zero bytes.
find_text() {
    IFS= read -rN 100000000 found <"$1"
}

# Prints the answer escaped for a JSON string; sed is faster for a long one.
escaped_answer() {
    local text most=1024
    IFS= read -rN $((most + 1)) text <"$answer"
    if [ ${#text} -gt $most ]; then
        sed -z 's/[\\"]/\\&/g; s/\n/\\n/g; s/\r/\\r/g; s/\t/\\t/g' "$answer"
        return
    fi
    text=${text//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\n'/\\n}
    text=${text//$'\r'/\\r}
    printf '%s' "${text//$'\t'/\\t}"
}

header_value() {
    find_header "$1"
    printf '%s' "$found"
}

value() {
    jq -cr "$1" "$answer" 2>&1
}

until_status() {
    local wanted=$1 deadline=$((SECONDS + patience))
    shift
    request "$@"
    while [ "$status" != "$wanted" ] && [ $SECONDS -lt $deadline ]; do
        pass_a_moment
        KX_RECORD= request "$@"
    done
    expect "$wanted"
}

# The server answers about an index that is being built when it is ready, or after the
# second of `Prefer`; other requests are repeated every 30 ms.
until_field() {
    local filter=$1 wanted=$2 deadline=$((SECONDS + patience))
    shift 2
    request "$@"
    while [ "$(value "$filter")" != "$wanted" ] &&
        [ $SECONDS -lt $deadline ]; do
        pass_a_moment
        KX_RECORD= request "$1" "$2" "${3-}" "${@:4}" --header 'Prefer: wait=1'
    done
    field "$filter" "$wanted"
}

# ---- Expectations ----------------------------------------------------------

expect() {
    is status "$status" "$1"
    [[ $1 == [45]?? && $exchange != HEAD* ]] || return 0
    find_header Content-Type
    is Content-Type "$found" application/problem+json
    find_problem
    is 'the problem' "$found" "${2:-$coded}"
    has_identifier || is X-Request-Id '' 'an identifier'
}

answers() {
    local wanted=("$1")
    shift
    [[ $1 != [a-z]* ]] || { wanted+=("$1") && shift; }
    request "$@"
    expect "${wanted[@]}"
}

gives() {
    request "${@:3}"
    field "$1" "$2"
}

has_identifier() {
    find_text "$head"
    [[ ${found,,} == *$'\nx-request-id: '[a-z0-9]* ]]
}

problem_code() {
    find_problem
    printf '%s' "$coded"
}

# Sets $coded to the code of the problem, and $found to it and what the document lacks.
find_problem() {
    local text part
    find_text "$answer"
    text=$found
    coded=$text
    [[ $text != *'"code":"'* ]] || coded=${text#*'"code":"'}
    coded=${coded%%\"*}
    found=$coded
    for part in "\"type\":\"/problems/$coded\"" "\"status\":$status" \
        '"title":"?????' '"detail":"?????' '"hint":"?????'; do
        # Unquoted, because it is a pattern.
        [[ $text == *$part* ]] || found="$found without $part"
    done
}

field() {
    is "$1" "$(value "$1")" "$2"
}

header() {
    find_header "$1"
    # Unquoted, because it is a pattern.
    if [[ $found == $2 ]]; then found=$2; fi
    is "header $1" "$found" "$2"
}

body_is() {
    if printf '%s' "$1" | cmp -s - "$answer"; then
        is 'the body' "$1" "$1"
    else
        is 'the body' "$(tr -d '\0' <"$answer")" "$1"
    fi
}

is() {
    held=$((held + 1))
    if [ "$2" != "$3" ]; then
        [ -n "$broken" ] || show_case
        [ -n "$sentence" ] || failed=$((failed + 1)) # outside of a case
        broken=yes
        echo "  $1 is: ${2:0:600}"
        echo "  and not: ${3:0:600}"
    fi
}

# ---- Cases -----------------------------------------------------------------

test_case() {
    end_case
    sentence=$1 broken='' held=0
}

end_case() {
    [ -n "$sentence" ] || return 0
    [ $held -gt 0 ] || is 'the number of expectations' 0 '1 or more'
    if [ -z "$broken" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    sentence=''
}

show_case() {
    local level=0
    while [ "${BASH_SOURCE[level]}" = "${BASH_SOURCE[0]}" ]; do
        level=$((level + 1))
    done
    echo "FAILED $(basename "$0") line ${BASH_LINENO[level - 1]}: $sentence"
    echo "  > $exchange"
    tr -d '\r' <"$head" | sed '/^$/d; s/^/  < /' | head -20
    head -c 1000 "$answer" | tr -d '\0' | sed 's/^/  < /'
    echo
    tail -5 "$log" | cut -c 1-300 | sed 's/^/  | /'
}

finish() {
    if [ -n "$server" ]; then
        test_case 'the server stops at the end with exit status 0'
        stop_server
        is 'its exit status' $? 0
    fi
    end_case
    ended=yes
}

# Runs at every exit: stops the server and prints the counts.
leave() {
    [ "$BASHPID" = "$$" ] || return # not in a subshell
    if [ $ended = no ]; then
        echo "FAILED $(basename "$0"): it ended before `finish`"
        failed=$((failed + 1))
    fi
    [ -z "$server" ] || stop_server
    [ "$own_cluster" = no ] || postgres_stop
    rm -rf "$work" "$work.postgres" "$work.postgres.log"
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
    exit $?
}
