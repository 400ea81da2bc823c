#!/bin/bash
# What must hold when things go wrong: the server is killed, the power is cut,
# the disk fails, a reader is slow. Each test is also shown to find what it looks
# for, by a server or a disk with a flaw. Compiler and options are those of the
# Makefile, BUILD says where the program was built.
#
#   run.sh fault-server    one server; a part of `make test`
#   run.sh fault-nodes     several nodes in front of one database; another part
#   run.sh [fault]         both
#   run.sh prove           the long form of both
#   run.sh prove-nodes     the long form of several nodes
#
# KX_FAULT_ONLY='nodes|cut off' runs the tests whose names this expression matches.
set -u
cd "$(dirname "$0")/../.." || exit
. tests/lib/path.sh
. tests/lib/spent.sh
. tests/lib/sums.sh
program=$BUILD/kindex
form=${1:-fault}
work=$BUILD/$form
case $form in
fault-server | fault-nodes) groups=${form#fault-} ;;
prove-nodes) groups=nodes ;;
*) groups='server nodes' ;;
esac
parts=0
case $form in
fault*) commits=3000 losses=4 tasks=3000 kills=30 builds=12 moves=15 cuts=5 repeats=12 step=17 nth=17 shaken=47 flips=14 rounds=4 upgrades=2 slowness=20 programs=1 outages=2 promotions=2 splits=1 mutes=3 members=2 troubles=postmaster,switchover severed=2 operations=20000 asked=6000 wrongs=8 patience=600 soak=20 seeds=200 ;;
prove*) commits=100000 losses=60 tasks=100000 kills=100 builds=100 moves=200 cuts=60 repeats=100 step=1 nth=1 shaken=1 flips=400 rounds=200 upgrades=30 slowness=300 programs=10 outages=30 promotions=20 splits=10 mutes=20 members=36 troubles=postmaster,member,agent,switchover,still,store severed=30 operations=300000 asked=300000 wrongs=100 patience=2400 soak=1800 seeds=10000 ;;
esac

# part NAME COMMAND...: runs one test beside at most $lanes - 1 others, each with servers
# and databases of its own: they wait for leases, disks and signals most of the time. When
# the test has ended, shows what it said.
part() {
    [[ $1 =~ ${KX_FAULT_ONLY:-.} ]] || return
    while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n; done
    parts=$((parts + 1))
    run_part "$work/part.$parts" "$@" &
}
run_part() {
    local output=$1 name=$2 ok bad spent started=$SECONDS
    timeout --kill-after=10 "$patience" "${@:3}" >"$output" 2>&1 </dev/null
    read_count $? "$output"
    read_spent "$output.times"
    echo "$ok $bad" >"$output.count"
    [ "$bad" -eq 0 ] || { echo "== $name" && reasons "$output"; } >"$output.failure"
    (
        flock 9
        echo "== $name"
        cat "$output"
        echo "in $((SECONDS - started)) s, $spent s of CPU"
    ) 9>"$work/lock"
}

# The objects of api.
doors() {
    find api -name '*.c' | sed "s|^|$BUILD/|; s|c\$|o|"
    echo "$BUILD/api/kvconnect/datapath.pb-c.o"
}

# The server with a flaw of the table: flawed NAME
# The words of $CC and the others are the Makefile's.
# shellcheck disable=SC2086
flawed() {
    local to=$work/$1 name file script objects=()
    rm -rf "$to"
    mkdir -p "$to"
    while read -r _ _ file script; do
        name=${file##*/}
        [ -e "$to/$name.c" ] || { cp "src/$file.c" "$to/$name.c" && objects+=("$to/$name.o"); }
        cp "$to/$name.c" "$to/unplanted"
        sed "$script" "$to/unplanted" >"$to/$name.c"
        [ "$(diff "$to/unplanted" "$to/$name.c" | grep -c '^>')" -eq 1 ] ||
            { echo "the flaw $1 does not change one line of src/$file.c" && return 1; }
        $CC $STD $CFLAGS -Isrc -c -o "$to/$name.o" "$to/$name.c" || return 1
    done < <(grep "^[a-z]* *$1 " tests/fault/FLAWS)
    [ ${#objects[@]} -gt 0 ] && $CC $CFLAGS $LINK -fuse-ld=gold -o "$to/kindex" $(doors) \
        "${objects[@]}" "$BUILD/libkindex.a" $DOORLIBS $CORELIBS
}

# The programs of a group: flaws GROUP
flaws() {
    local name
    for name in $(awk -v "group=$1" '$1 == group || $1 == "both" { print $2 }' tests/fault/FLAWS | uniq); do
        flawed "$name" || return
    done
}

# What is preloaded into the server: library NAME
# shellcheck disable=SC2086
library() {
    $CC $STD $CFLAGS -shared -fPIC -o "$work/$1.so" "tests/fault/$1.c" -ldl
}

# By the Makefile's own rules.
objects() {
    local file objects=()
    for file in tests/fault/{alloc,schedule}*.c; do
        objects+=("$BUILD/${file%.c}.o")
    done
    ${MAKE:-make} -s --no-print-directory -j"${JOBS:-2}" BUILD="$BUILD" \
        "${objects[@]}" "$BUILD/tests/libtest.a"
}

# allocs NAME OBJECT...: a program whose allocations fail
# shellcheck disable=SC2086
allocs() {
    $CC $CFLAGS $LINK -fuse-ld=gold -o "$work/$1" "$BUILD/tests/fault/alloc.o" \
        "${@:2}" $(doors | grep -v '/main\.o$') "$BUILD/tests/libtest.a" "$BUILD/libkindex.a" -lcmocka $DOORLIBS $CORELIBS
}

# schedules TO OBJECT...: the threads of a store, one at a time
# shellcheck disable=SC2046,SC2086
schedules() {
    $CC $CFLAGS $LINK $(grep -oh '__wrap_[a-z0-9_]*' tests/fault/schedule.c |
        sort -u | sed 's/__wrap_/-Wl,--wrap=/') -o "$work/$1" "$BUILD"/tests/fault/schedule{,s}.o \
        "${@:2}" "$BUILD/tests/libtest.a" "$BUILD/libkindex.a" -lcmocka $CORELIBS
}

certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -days 2 -subj /CN=localhost -keyout "$work/key.pem" \
        -out "$work/cert.pem" 2>"$work/openssl"
}

# A test must fail, and say these words: finds WORDS COMMAND...
# Most of them meet the flaw at random moments: one that misses it runs again, with
# another seed, twice at most.
finds() {
    local said words=$1 attempt
    shift
    for attempt in 1 2 3; do
        if said=$("$@"); then
            echo "attempt $attempt: the flaw was not found"
        elif ! grep -q "$words" <<<"$said"; then
            echo "attempt $attempt: the test failed for another reason"
        else
            grep -m 1 "$words" <<<"$said"
            echo '1 passed, 0 failed'
            return 0
        fi
        tail -n 40 <<<"$said"
    done
    return 1
}
# finds_flaw COMMAND...: the test must find a flaw; which of its checks speaks first is left
# open (report.js).
finds_flaw() {
    finds '^found: ' "$@"
}
# replays PROGRAM SEEDS: one of the schedules must find a flaw, and the command that the
# program prints must find the same flaw again.
replays() {
    local said words
    said=$("$1" "$2") && echo "no flaw was found in $2 seeds" && return 1
    words=$(grep '^found: ' <<<"$said") || { echo "$said" && return 1; }
    said=$($(sed -n 's/^again: //p' <<<"$said"))
    grep -xF "$words" <<<"$said" || { echo "$words" && echo "not again: $said" && return 1; }
    echo '1 passed, 0 failed'
}
export -f finds finds_flaw replays

# with_postgres SCRIPT WORD...: with a PostgreSQL for it alone, whose URL is the last word
with_postgres() (
    . tests/lib/postgres.sh
    place=$(mktemp -d)
    trap 'postgres_stop; rm -rf "$place"' EXIT
    postgres_start "$place/postgres" && postgres_database nodes || exit 1
    node "tests/fault/$1" "${@:2}" "$found"
)
nodes() { # PROGRAM ROUNDS
    with_postgres nodes.js "$1" "$2"
}
reads() { # PROGRAM OPERATIONS
    with_postgres nodes_reads.js "$1" "$2"
}
rolling() { # PROGRAM ROUNDS
    with_postgres nodes_upgrade.js "$1" "$work/next" "$2"
}
# slow PROGRAM SECONDS: with a database whose disk is slow
slow() (
    . tests/lib/postgres.sh
    place=$(mktemp -d)
    export KX_POSTGRES=$place/postgres
    trap 'postgres_stop; rm -rf "$place"' EXIT
    chmod 711 "$place" && install -m 644 "$work/slow_disk.so" "$place" &&
        postgres_new "$KX_POSTGRES" &&
        LD_PRELOAD=$place/slow_disk.so KX_SLOW_MS=50 postgres_resume &&
        postgres_database nodes || exit 1
    node tests/fault/nodes_slow.js "$1" "$2" "$found"
)
export -f with_postgres nodes reads rolling slow

# clocks PROGRAM ROUNDS: the database has a clock that can be set. Its programs load it as
# the user that they run as.
clocks() (
    . tests/lib/postgres.sh
    place=$(mktemp -d)
    export KX_POSTGRES=$place/postgres KX_CLOCK=$place/clock
    eval "unclocked_$(declare -f as_postgres)"
    as_postgres() {
        unclocked_as_postgres env LD_PRELOAD="$KX_FAKETIME" FAKETIME_TIMESTAMP_FILE="$KX_CLOCK" \
            FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1 "$@"
    }
    trap 'postgres_stop; rm -rf "$place"' EXIT
    chmod 711 "$place" && echo +0 >"$KX_CLOCK" && postgres_new "$KX_POSTGRES" &&
        postgres_resume && postgres_database nodes || exit 1
    node tests/fault/nodes_clocks.js "$1" "$2" "$found"
)
export -f clocks

# The program with another version.
next_version() {
    local now
    now=$("$program" --version | sed 's/.* //')
    LC_ALL=C sed "s/${now//./\\.}/${now%.*}.9/g" "$program" >"$work/next"
    chmod +x "$work/next"
    [ "$("$work/next" --version)" = "kindex ${now%.*}.9" ]
}

# nodes_pair PROGRAM ROUNDS [SETTING]: with a PostgreSQL and its standby, which is
# synchronous unless the setting says otherwise
nodes_pair() (
    . tests/lib/postgres.sh
    place=$(mktemp -d)
    settings=("${postgres_options[@]}" -c wal_retrieve_retry_interval=100ms
        -c "${3-synchronous_standby_names=walreceiver}")
    trap 'for one in "$place"/?/data/postmaster.pid; do postgres_end "${one%/data/*}"; done; rm -rf "$place"' EXIT
    export KX_POSTGRES=$place/a KX_NODES_PAIR="$place/a $place/b ${settings[*]}"
    chmod 711 "$place"
    postgres_new "$place/a" && postgres_begin "$place/a" "${postgres_options[@]}" &&
        postgres_database nodes && postgres_copy "$place/a" "$place/b" &&
        postgres_end "$place/a" fast && postgres_begin "$place/a" "${settings[@]}" &&
        postgres_begin "$place/b" "${settings[@]}" || exit 1
    node tests/fault/nodes.js "$1" "$2" \
        "postgresql://app@/nodes?host=$place/a,$place/b,$place/c&target_session_attrs=read-write"
)

# nodes_cut PROGRAM ROUNDS: in a network that only this test sees
nodes_cut() (
    . tests/lib/postgres.sh
    place=$(mktemp -d)
    postgres_options+=(-c 'listen_addresses=*')
    trap 'postgres_stop; rm -rf "$place"' EXIT
    export KX_POSTGRES=$place/postgres KX_NODES_CUT=1 KX_NODES_FAULTS=cut
    postgres_new "$KX_POSTGRES" &&
        echo 'host all all 10.99.0.0/16 trust' >>"$KX_POSTGRES/data/pg_hba.conf" &&
        ip link set lo up && echo 1 >/proc/sys/net/ipv4/ip_forward &&
        postgres_resume && postgres_database nodes || exit 1
    node tests/fault/nodes.js "$1" "$2" 'postgresql://app@10.99.%.1/nodes'
)
# nodes_dropped PROGRAM ROUNDS: in a network where packets to the first host of the
# database are dropped, since no other end of this cable has the address
nodes_dropped() {
    ip link set lo up && ip link add dropped type veth peer name sink &&
        ip address add 10.98.0.2/24 dev dropped && ip link set dropped up &&
        ip link set sink up &&
        ip neighbour add 10.98.0.1 lladdr 02:00:00:00:00:01 dev dropped || return
    KX_NODES_MUTE=10.98.0.1 KX_NODES_FAULTS=kill nodes "$1" "$2"
}
# nodes_patroni PROGRAM ROUNDS SETTING...: with three members that Patroni keeps
nodes_patroni() (
    . deploy/postgres.sh
    . deploy/patroni.sh
    place=$(mktemp -d)
    export KX_NODES_PATRONI=$place
    trap 'patroni_end "$place" a b c; patroni_end "$place" etcd; rm -rf "$place"' EXIT
    chmod 711 "$place"
    patroni_make "$place" "${@:3}" && patroni_begin "$place" etcd a b c && patroni_until "$place" \
        "2 $(($# == 2 ? 0 : 1))" && patroni_query "$place" 'CREATE ROLE app LOGIN' &&
        patroni_query "$place" 'CREATE DATABASE nodes OWNER app' || exit 1
    node tests/fault/nodes.js "$1" "$2" "$(patroni_engine "$place" nodes app)"
)
export -f nodes_pair nodes_cut nodes_dropped nodes_patroni

cut_power() {
    KX_POWER=$1 KX_POWER_LIBRARY=$work/power.so \
        node "tests/fault/${3:-kill.js}" "$program" "$2"
}
export -f cut_power
export work program

# ---- One server ----------------------------------------------------------------

server_programs() {
    local nouns=("$BUILD"/tests/fault/alloc_{core,world,commits,reads,indexes,tokens,files}.o)
    flaws server && objects && allocs alloc_core "${nouns[@]}" &&
        allocs alloc_starving "${nouns[@]}" "$work/starving/sweep.o" &&
        allocs alloc_http "$BUILD"/tests/fault/alloc_{http,client,peer}.o && certificate &&
        schedules schedules && schedules schedules_early "$work/early/flush.o" &&
        schedules schedules_overdue "$work/overdue/flush.o" &&
        library power && library io && library disk
}

server_parts() {
    lanes=2
    part "killed $kills times" node tests/fault/kill.js "$program" "$kills"
    part 'a flush that does nothing is found' bash -c 'finds_flaw \
        node tests/fault/kill.js "$work/noflush/kindex" 10'
    part "killed $repeats times, every write comes again until it is answered" \
        node tests/fault/retries.js "$program" "$repeats"
    part 'a repetition that is carried out again is found' bash -c 'finds_flaw \
        node tests/fault/retries.js "$work/amnesic/kindex" 10'
    part "$tasks jobs of a queue, workers and server are killed" \
        node tests/fault/queues.js "$program" "$tasks"
    part 'a queue without leases is found' bash -c 'finds_flaw \
        node tests/fault/queues.js "$work/unleased/kindex" 1000'
    part "a followed server lost $losses times" \
        node tests/fault/standby.js "$program" "$losses" lease
    part "the same with --archive-sync, $losses times" \
        node tests/fault/standby.js "$program" "$losses" sync
    part 'a fence of each timeline is found' bash -c 'finds_flaw \
        node tests/fault/standby.js "$work/timelined/kindex" 8 lease'
    part 'a server without a lease is found' bash -c 'finds_flaw \
        node tests/fault/standby.js "$work/leaseless/kindex" 8 lease'
    part 'a write that does not wait for the archive is found' bash -c 'finds_flaw \
        node tests/fault/standby.js "$work/unasked/kindex" 8 sync'
    part "$commits commits are copied by an index of changes" \
        node tests/fault/follow.js "$program" "$commits"
    part 'a copy that is not told of removals is found' bash -c \
        'finds_flaw env KX_NO_TOMBSTONES=1 node tests/fault/follow.js "$program" 2000'
    part 'wrong index entries are found' \
        node tests/fault/indexes-self-test.js "$program"
    part "builds killed $builds times" node tests/fault/builds.js "$program" "$builds"
    part 'a build that forgets how far it was is found' bash -c 'finds_flaw \
        node tests/fault/builds.js "$work/forgetful/kindex" 30'
    part 'a build that leaves entries out is found' bash -c 'finds_flaw \
        node tests/fault/builds.js "$work/careless/kindex" 30'
    part 'a build that takes no notice of writes is found' bash -c 'finds_flaw \
        node tests/fault/builds.js "$work/unaware/kindex" 30'
    part "killed $moves times while an index migrates" \
        node tests/fault/migrations.js "$program" "$moves"
    part 'a migration that writes the old form only is found' bash -c \
        'finds_flaw node tests/fault/migrations.js "$work/oneform/kindex" 120'
    part 'an entry that comes on two pages is found' bash -c 'finds_flaw \
        node tests/fault/migrations.js "$work/doubling/kindex" 120'
    part "power cut $cuts times" bash -c "cut_power whole $cuts"
    part "power cut $cuts times, half of what was not synced is there" \
        bash -c "cut_power torn $cuts"
    part "power cut $cuts times, every write comes again until it is answered" \
        bash -c "cut_power torn $cuts retries.js"
    part 'a disk that forgets what was synced is found' \
        bash -c 'finds_flaw cut_power forgetful 5'
    part "$flips flipped bits in the log" \
        node tests/fault/flips.js "$program" "$flips"
    part 'a start that looks for no witness is found' bash -c \
        'finds_flaw node tests/fault/flips.js "$work/blind/kindex" 30'
    part 'each call to the disk fails' \
        node tests/fault/io.js "$program" "$work/io.so" "$step"
    part 'a failed sync that is not heard is found' bash -c 'finds_flaw \
        node tests/fault/io.js "$work/deaf/kindex" "$work/io.so" 19'
    part 'each allocation of the core fails' "$work/alloc_core" "$nth"
    part 'each allocation of a request fails' "$work/alloc_http" "$nth"
    part 'each allocation of a request fails, those of nghttp2 as well' \
        env KX_ALLOC_HTTP2=1 "$work/alloc_http" "$nth"
    part 'each allocation of a request fails, with TLS and tokens' \
        env KX_ALLOC_SHEAF="$work" "$work/alloc_http" "$shaken"
    part 'a failed step that keeps its memory is found' bash -c \
        'finds "are left" "$work/alloc_starving" 1 drop'
    part 'a disk that fills' node tests/fault/disk.js "$program" "$work/disk.so"
    part 'a start that lacks its ballast is found' bash -c 'finds_flaw \
        node tests/fault/disk.js "$program" "$work/disk.so" without'
    part 'a disk that many large values fill at once' \
        node tests/fault/disk.js "$program" "$work/disk.so" burst
    part 'commits that leave a checkpoint no room are found' bash -c \
        'finds_flaw \
        node tests/fault/disk.js "$work/unroomed/kindex" "$work/disk.so" burst'
    part "a history of $operations operations" \
        node tests/fault/history.js "$program" "$operations"
    part 'a stale read is found' bash -c 'finds_flaw \
        node tests/fault/history.js "$work/stale/kindex" 10000'
    part 'a lost update is found' bash -c 'finds_flaw \
        node tests/fault/history.js "$work/lenient/kindex" 10000'
    part 'an update that is lost by a condition on its value is found' bash -c \
        'finds_flaw node tests/fault/history.js "$work/forgiving/kindex" 10000'
    part 'a phantom is found' bash -c 'finds_flaw \
        node tests/fault/history.js "$work/phantom/kindex" 10000'
    part 'a phantom of the same batch is found' bash -c 'finds_flaw \
        node tests/fault/history.js "$work/crowded/kindex" 10000'
    part 'a read of what is not on disk is found' bash -c 'finds_flaw env \
        KX_PART=300 KX_POWER_SLOW=20000 KX_POWER_LIBRARY=$work/power.so \
        node tests/fault/history.js "$work/hasty/kindex" 6000'
    part "$soak seconds of a steady load" \
        node tests/fault/soak.js "$program" "$soak" 1 "$work/soak.svg"
    part 'a server that leaks is found' bash -c 'finds "FAILED: memory is flat" \
        node tests/fault/soak.js "$work/leaking/kindex" 20'
    part "$seeds schedules of the threads of a store" "$work/schedules" "$seeds"
    part 'a view that is shown before its flush is found, and again by its seed' \
        bash -c 'replays "$work/schedules_early" 300'
    part 'a wait for a flush that has ended is found, and again by its seed' \
        bash -c 'replays "$work/schedules_overdue" 3000'
    part 'a million entries, a slow reader' node tests/fault/stream.js "$program"
}

# ---- Several nodes in front of one database --------------------------------------

nodes_programs() {
    local version
    flaws nodes && next_version && library slow_disk &&
        (. tests/lib/postgres.sh && postgres_make "$KX_CLUSTER/made") || return
    for version in 14 18; do
        (. tests/lib/postgres.sh && mkdir "$KX_CLUSTER/$version" &&
            postgres_version $version "$KX_CLUSTER/$version/programs" &&
            postgres_make "$KX_CLUSTER/$version/made") || return
    done
}

nodes_parts() {
    lanes=3
    part "nodes killed, frozen and stopped $rounds times" bash -c "nodes $program $rounds"
    part 'the fence alone keeps nodes apart, where a session cannot be ended' \
        env KX_NODES_FAULTS=freeze bash -c "nodes $work/unended/kindex 4"
    # Two batches of one number can also keep nodes from beginning again.
    part 'a batch that no fence refuses is found' bash -c 'finds "^found: \|more than one row" env \
        KX_NODES_UNFENCED=1 KX_NODES_FAULTS=freeze bash -c "nodes $work/unfenced/kindex 8"'
    part "the database killed $outages times" env KX_NODES_FAULTS=database \
        bash -c "nodes_pair $program $outages"
    part "the database's synchronous standby promoted $promotions times" env KX_NODES_FAULTS=promote \
        bash -c "nodes_pair $program $promotions"
    for version in 14 18; do
        part "PostgreSQL $version killed, replaced, and replaced while it lives" \
            env KX_NODES_FAULTS=database,promote,outlive KX_CLUSTER="$KX_CLUSTER/$version" \
            POSTGRES_PROGRAMS="$KX_CLUSTER/$version/programs/bin" \
            bash -c "nodes_pair $program 3"
    done
    part "a standby promoted while the old primary runs, $splits times" env KX_NODES_FAULTS=split \
        bash -c "nodes_pair $program $splits"
    part "a primary that is replaced and lives on $splits times" env KX_NODES_FAULTS=outlive \
        bash -c "nodes_pair $program $splits"
    part "members of Patroni killed, stopped and without their store, $members times" \
        env KX_NODES_FAULTS="$troubles" bash -c "nodes_patroni $program $members \
        'synchronous_mode: true' 'synchronous_mode_strict: true'"
    part 'an asynchronous failover of Patroni that loses commits is found' bash -c 'finds_flaw env \
        KX_NODES_ASYNC=1 KX_NODES_FAULTS=loss bash -c "nodes_patroni $program 1"'
    part 'an asynchronous standby that is promoted is found' bash -c 'finds_flaw env \
        KX_NODES_ASYNC=1 KX_NODES_FAULTS=promote bash -c "nodes_pair $program 1 synchronous_standby_names="'
    part 'a COMMIT that does not wait for the disk is found' bash -c 'finds_flaw env \
        KX_NODES_ASYNC=1 KX_NODES_FAULTS=database bash -c "nodes_pair $work/trusting/kindex 3 synchronous_commit=off"'
    for count in 3 6; do
        part "$count nodes with a mute host before their database" env KX_NODES_MUTE=1 \
            KX_NODES_FAULTS=kill KX_NODES_COUNT=$count bash -c "nodes $program $mutes"
    done
    part 'a node that waits for a mute host is found' bash -c 'finds_flaw env KX_NODES_MUTE=1 \
        KX_NODES_FAULTS=kill bash -c "nodes $work/waiting/kindex 3"'
    if unshare --net ip link set lo up 2>"$work/unshare"; then
        part "the active node cut off $severed times" \
            unshare --net bash -c "nodes_cut $program $severed"
        part 'a host of the database that drops packets' \
            unshare --net bash -c "nodes_dropped $program $mutes"
        part 'a node that waits for a host that drops packets is found' bash -c 'finds_flaw \
            unshare --net bash -c "nodes_dropped $work/waiting/kindex 3"'
    else
        echo "skipped: the active node is not cut off, and no packets are dropped, because $(tail -n 1 "$work/unshare")"
    fi
    part 'a standby that keeps what it has read is found' bash -c 'finds_flaw env \
        KX_NODES_FAULTS=standby bash -c "nodes $work/keeping/kindex 4"'
    part 'a position that is not waited for is found' bash -c 'finds_flaw env \
        KX_NODES_FAULTS=standby bash -c "nodes $work/heedless/kindex 4"'
    part "a rolling upgrade, $upgrades times" bash -c "rolling $program $upgrades"
    part 'a node that takes over when it begins is found' bash -c \
        'finds_flaw bash -c "rolling $work/seizing/kindex 2"'
    part 'a commit that an upgrade loses is found' bash -c \
        'finds_flaw env KX_UPGRADE_PLANT=loss bash -c "rolling $program 1"'
    part 'an error that clients do not repeat is found' bash -c \
        'finds_flaw env KX_UPGRADE_PLANT=rule bash -c "rolling $program 2"'
    part "a slow disk and a slow network for $slowness s" bash -c "slow $program $slowness"
    part 'a lease that is too short for them is found' bash -c \
        'finds_flaw bash -c "slow $work/hurried/kindex 20"'
    [ "$programs" = 1 ] || # else make deno has done it
        part "Deno and @deno/kv programs while active nodes are killed, $programs times" \
            env KX_ROUNDS="$programs" tests/deno/run.sh failover.mjs
    part "a history of $asked operations of three nodes, at each level of reads" \
        bash -c "reads $program $asked"
    part 'a stale read of the active node is found' bash -c 'finds_flaw env \
        KX_NODES_FAULTS=standby bash -c "reads $work/stale/kindex 2000"'
    # A node learns within milliseconds of running again that its lease was taken: this one
    # a second later, when it has answered.
    part 'a stale read of a node that was frozen is found' bash -c 'finds_flaw env \
        KX_NODES_FAULTS=freeze KX_PART=1000 bash -c "reads $work/presuming/kindex 3000"'
    part 'a stale read of a standby is found' bash -c 'finds_flaw env \
        KX_NODES_FAULTS=standby bash -c "reads $work/keeping/kindex 2000"'
    part 'a read that is before the position of its session is found' bash -c \
        'finds_flaw env KX_NODES_FAULTS=standby bash -c "reads $work/heedless/kindex 2000"'
    KX_FAKETIME=$(find /usr/lib /usr/lib64 -name libfaketimeMT.so.1 2>/dev/null | head -1)
    export KX_FAKETIME
    if [ -n "$KX_FAKETIME" ]; then
        part "clocks of nodes and of their database are set $wrongs times" \
            bash -c "clocks $program $wrongs"
        part 'nodes that go by their own clocks are found' bash -c 'finds_flaw \
            bash -c "clocks $work/apart/kindex 8"'
        part 'a clock that is set back with that of the database is found' bash -c \
            'finds_flaw bash -c "clocks $work/setback/kindex 8"'
    else
        echo 'skipped: clocks are not set, because libfaketime is missing: make deps-test installs it'
    fi
}

mkdir -p "$work"
rm -f "$work"/part.*
KX_CLUSTER=$(mktemp -d) # where the user of PostgreSQL may go, unlike $work
export KX_CLUSTER
trap 'rm -rf "$KX_CLUSTER"' EXIT
for group in $groups; do
    ${group}_programs || { echo '0 passed, 1 failed'; exit 1; }
    ${group}_parts
    wait
done
compgen -G "$work/part.*.failure" >"$work/failures" &&
    echo "failures, once more:" && cat "$work"/part.*.failure
cat "$work"/part.*.count | awk -v parts=$parts '
    { passed += $1; failed += $2 }
    END { failed += parts - NR; print passed + 0 " passed, " failed + 0 " failed"
          exit failed > 0 || passed == 0 }'
