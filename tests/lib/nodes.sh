# Several nodes in front of one PostgreSQL, for stories that choose the node of each
# request. Source it after http.sh.
#
#   have_nodes NAME...           starts a cluster with the database "store", sets $address
#                                to its URL, and chooses a port for each node
#   node_start NAME [OPTION...]  node_end NAME SIGNAL     $pids has its process
#   signal NAME SIGNAL
#   at NAME                      requests and commands go to it from now on
#
# At every exit of the story its nodes are stopped.

declare -A pids ports
address=''

have_nodes() {
    local name free
    own_database
    address=$found
    free_ports $#
    read -ra free <<<"$found"
    for name in "$@"; do
        ports[$name]=${free[0]}
        free=("${free[@]:1}")
    done
    trap end_nodes EXIT
}

node_start() {
    start_server --engine "$address" --node "$1" --listen "127.0.0.1:${ports[$1]}" \
        --advertise "http://127.0.0.1:${ports[$1]}" "${@:2}"
    pids[$1]=$server
    server=''
}

signal() {
    kill "-$2" "${pids[$1]}"
}

# Returns its exit status.
node_end() {
    signal "$1" "$2"
    wait "${pids[$1]}" 2>"$work/null"
}

at() {
    url=http://127.0.0.1:${ports[$1]}
    export KINDEX_URL=$url
}

end_nodes() {
    local name
    [ "$BASHPID" = "$$" ] || return # not in a subshell
    for name in "${!pids[@]}"; do
        signal "$name" CONT 2>"$work/null"
        node_end "$name" KILL 2>"$work/null"
    done
    leave
}
