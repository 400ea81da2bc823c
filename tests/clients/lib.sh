# What the tests of a client share beside the words of the HTTP tests. Sourced in a
# directory below this one.
#
#   works NAME COMMAND...       a case: the command succeeds
#   refused NAME COMMAND...     a case: the command fails
#   pack DIRECTORY              `npm pack` into the working directory; prints the name
#   restart                     a server with an empty store; its address is in
#                               KINDEX_URL
KINDEX=$(cd ../../.. && realpath "${BUILD:-build}")/kindex
export KINDEX_PROGRAM=$KINDEX
. ../../lib/path.sh
. ../../lib/http.sh

works() {
    test_case "$1"
    "${@:2}" >"$work/said" 2>&1
    is 'its exit status' $? 0
    [ -z "$broken" ] || sed 's/^/    /' "$work/said"
}

refused() {
    test_case "$1"
    ! "${@:2}" >"$work/said" 2>&1
    is 'whether it fails' $? 0
}

pack() {
    (cd "$1" && npm pack --silent --pack-destination "$work")
}

restart() {
    [ -z "$server" ] || stop_server
    rm -rf "$work/data"
    start_server
    export KINDEX_URL=$url
}
