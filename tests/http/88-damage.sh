#!/bin/bash
# Damaged data directories: without an archive the server refuses to start and
# says what to do, with one it is restored from there with all that was answered.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
. "$(dirname "$0")/../lib/flip.sh"
RANDOM=88
# When Berkeley DB has panicked, closing it frees nothing of its memory.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
archive=$work/archive

whole_list() {
    curl --silent --globoff --header 'Accept: application/x-ndjson' \
        "$url/list?prefix=[]"
}

# The directories as they were when the server had stopped.
fresh_copy() {
    rm -rf "$work/data" "$archive"
    cp -r "$work/good" "$work/data"
    cp -r "$work/good-archive" "$archive"
}

refused() {
    timeout "$longest" "$KINDEX" serve --data "$work/data" --listen 127.0.0.1:0 "$@" \
        >"$work/null" 2>"$work/refusal"
    is "the exit status, $damage" $? 1
    is "what is damaged, $damage" "$(grep -c "$expected" "$work/refusal")" 2
    is "what to do, $damage" "$(grep -c 'kindex restore BACKUP --data NEW' "$work/refusal")" 1
}

mended() {
    start_server --archive "$archive"
    whole_list >"$work/found"
    is "the entries, $damage" "$(cmp "$work/found" "$work/wanted" 2>&1 && echo same)" same
    export KINDEX_URL=$url
    kindex set after 1
    is "a later versionstamp, $damage" "$([[ $out > $last ]] && echo yes)" yes
    is "the damaged files, $damage" "$(find "$work/data" -maxdepth 1 -name 'damaged-*' | wc -l)" 1
    is "what the log says, $damage" "$(grep -c 'event=restored' "$log")" "$((++restores))"
    stop_server
    rm -rf "$work"/data/damaged-*
}
restores=0

# Sets PREFIX/=1 to PREFIX/=COUNT, each in a separate commit, over one connection,
# and leaves the versionstamp of the last in $last. A # in VALUE is the number.
set_each() { # PREFIX COUNT VALUE [PARAMETERS]
    local i
    for ((i = 1; i <= $2; i++)); do
        printf 'url = "%s/kv/%s/=%d%s"\nrequest = PUT\ndata = "%s"\nnext\n' \
            "$url" "$1" "$i" "${4-}" "${3//#/$i}"
    done | sed '$d' >"$work/sets"
    curl --silent --config "$work/sets" >"$work/set"
    is "sets of $1" "$(jq -r .versionstamp "$work/set" | sort -u | wc -l)" "$2"
    last=$(jq -r .versionstamp "$work/set" | tail -1)
}

start_server --archive "$archive" --checkpoint-interval 1s --checkpoint-log 1MiB
export KINDEX_URL=$url
kindex index add by_email users email --unique
users=$(some_of 20000) later=$(some_of 40)
for ((i = 1; i <= users; i++)); do
    echo "{\"key\":[\"users\",$i],\"value\":{\"email\":\"u$i@x.org\",\"pad\":\"$RANDOM$RANDOM$RANDOM$RANDOM\"}}"
done >"$work/users"
kindex import "$work/users"
there_is_a_base() { [ -n "$(find "$archive" -name 'base-*')" ]; }
wait_until there_is_a_base
set_each later "$later" '#' '?ttl=1h'
whole_list >"$work/wanted"
stop_server
cp -r "$work/data" "$work/good"
cp -r "$archive" "$work/good-archive"
tail=$(find "$archive" -name 'log.*.tail')
live=$(basename "$tail" .tail)

test_case 'a flipped bit in any table is refused without an archive, with what to do'
for table in entries.db entries.db entries.db expiry.db catalog.db; do
    fresh_copy
    place=$(some_place "$work/data/$table")
    flip "$work/data/$table" "$place"
    damage="$table flipped at $place"
    expected="of $table has a wrong checksum"
    refused
done

test_case 'a page that is half of another one, or in another place, is refused'
fresh_copy
damage='a torn page' expected='page 7 of entries.db has a wrong checksum'
dd if="$work/data/entries.db" of="$work/data/entries.db" bs=512 skip=$((9 * 8)) \
    seek=$((7 * 8 + 4)) count=4 conv=notrunc status=none
refused
fresh_copy
damage='a page that lies elsewhere'
dd if="$work/good/entries.db" of="$work/data/entries.db" bs=4096 skip=9 seek=7 \
    count=1 conv=notrunc status=none
refused

test_case 'a table that is gone or empty is refused'
for table in entries.db expiry.db catalog.db; do
    fresh_copy
    damage="$table is gone" expected="$table is missing or empty"
    rm "$work/data/$table"
    refused
    : >"$work/data/$table"
    refused
done

test_case 'damaged files are set aside into a new directory, also if one of that second exists'
fresh_copy
for ((i = 0; i < 900; i++)); do
    printf 'damaged-%(%Y%m%dT%H%M%SZ)T\n' $((EPOCHSECONDS + i))
done | (cd "$work/data" && TZ=UTC xargs mkdir)
flip "$work/data/entries.db" "$(some_place "$work/data/entries.db")"
start_server --archive "$archive"
whole_list >"$work/found"
is 'the entries' "$(cmp "$work/found" "$work/wanted" 2>&1 && echo same)" same
is 'the damaged files' "$(find "$work"/data/damaged-*-2 -name entries.db | wc -l)" 1
is 'what the log says' "$(grep -c 'event=restored.*damaged=[^ ]*Z-2 ' "$log")" 1
stop_server
restores=$((restores + 1))

test_case 'damage is refused in a store with hardly an entry, too'
rm -rf "$work/data"
start_server
export KINDEX_URL=$url
kindex set small 1
stop_server
cp -r "$work/data" "$work/small"
for table in entries.db expiry.db catalog.db; do
    rm -rf "$work/data"
    cp -r "$work/small" "$work/data"
    damage="$table of a small store is gone" expected="$table is missing or empty"
    rm "$work/data/$table"
    refused
done

test_case 'a crash during the creation of the store is not treated as damage'
rm -rf "$work/data"
start_server
stop_server
rm "$work/data/complete" "$work/data/catalog.db" "$work/data/expiry.db"
start_server
is 'it is complete again' "$(find "$work/data" -name complete | wc -l)" 1
stop_server

test_case 'a start that refuses damage changes no file'
fresh_copy
flip "$work/data/entries.db" 5000
cp -r "$work/data" "$work/before"
damage='nothing touched' expected='page 1 of entries.db has a wrong checksum'
refused
is 'the directories' "$(diff -r "$work/before" "$work/data" && echo same)" same

test_case 'flipped bits in tables are restored from the archive'
for table in entries.db entries.db entries.db entries.db expiry.db catalog.db; do
    fresh_copy
    place=$(some_place "$work/data/$table")
    flip "$work/data/$table" "$place"
    damage="$table flipped at $place"
    mended
done

test_case 'objects of another store in the archive are ignored, and other files stay where they are'
fresh_copy
base=$(find "$archive" -name 'base-*')
mkdir "$archive/another"
newer=${base##*/}
echo damaged >"$archive/another/${newer%-*}-9$(printf %s "${newer##*-}" | cut -c2-)"
echo secret >"$work/data/token"
flip "$work/data/entries.db" 9000
damage='another store is in the archive'
mended
is 'the token file' "$(cat "$work/data/token")" secret

test_case 'a store that the archive does not know is not repaired from it'
fresh_copy
rm "$work/data/timeline"
flip "$work/data/entries.db" 9000
damage='no timeline'
expected='event=damaged\|is damaged: '
refused --archive "$archive"
is 'nothing went aside' "$(find "$work/data" -name 'damaged-*' | wc -l)" 0

test_case 'a file that may not be read or written is not damaged: it stays where it is, and nothing is restored'
somebody=()
if [ "$(id -u)" = 0 ]; then
    chmod 711 "$work"
    somebody=(setpriv --reuid 65534 --clear-groups)
fi
while read -r mode file; do
    fresh_copy
    chmod "$mode" "$work/data/$file"
    [ ${#somebody[@]} = 0 ] || chown -R 65534 "$work/data" "$archive"
    for with in '' "--archive $archive"; do
        # shellcheck disable=SC2086 # two words, or none
        timeout "$longest" "${somebody[@]}" "$KINDEX" serve --data "$work/data" $with \
            --listen 127.0.0.1:0 >"$work/null" 2>"$work/refusal" </dev/null
        is "the exit status, $file $mode" $? 1
        is 'why' "$(grep -c "^kindex: .*$file: Permission denied" "$work/refusal")" 1
        is 'no advice to restore' "$(grep -c 'estore' "$work/refusal")" 0
        is 'nothing went aside' "$(find "$work/data" -name 'damaged-*' | wc -l)" 0
    done
done <<END
0 entries.db
0400 entries.db
0400 catalog.db
0400 $live
END

test_case 'a damaged archive leaves a sound store alone, and is repaired'
fresh_copy
place=$(some_place "$tail" "$(stat -c %s "$tail")")
flip "$tail" "$place"
start_server --archive "$archive"
whole_list >"$work/found"
is "the entries, flipped at $place" "$(cmp "$work/found" "$work/wanted" 2>&1 && echo same)" same
is 'nothing went aside' "$(find "$work/data" -name 'damaged-*' | wc -l)" 0
stop_server
is 'the copy' "$(cmp "$tail" "$work/data/$live" 2>&1 | grep -vc 'EOF on')" 0
flip "$work/data/entries.db" 9000
damage='the archive was damaged, too'
mended

test_case 'a part of the log that vanished from the archive is copied again, all of it'
fresh_copy
start_server --archive "$archive"
export KINDEX_URL=$url
rm "$tail"
kindex set vanished 1
stop_server
is 'there is a copy' "$([ -s "$tail" ] && echo yes)" yes
is 'the copy' "$(cmp "$tail" "$work/data/$live" 2>&1 | grep -vc 'EOF on')" 0

test_case 'flipped bits in log that the archive has are repaired, though the library would see its end there'
for i in 1 2 3; do
    fresh_copy
    place=$(some_place "$work/data/$live" "$(stat -c %s "$tail")")
    flip "$work/data/$live" "$place"
    damage="$live flipped at $place"
    mended
done

test_case 'a flipped bit in the log flushed before a kill, with more after it, is refused without an archive'
killed_copy() {
    fresh_copy
    start_server "$@"
    set_each killed 30 '\"needle-#.\"'
    whole_list >"$work/wanted"
    kill -9 "$server"
    { wait "$server"; } 2>"$work/null"
    server=''
}
# In one of them, where the log has it.
flip_needle() {
    place=$(grep -abo "needle-$1\." "$2" | head -1 | cut -d: -f1)
    flip "$2" "$place"
}
cp "$work/wanted" "$work/wanted-before"
killed_copy
cp -r "$work/data" "$work/killed"
for i in 1 15 29; do
    rm -rf "$work/data"
    cp -r "$work/killed" "$work/data"
    flip_needle $i "$work/data/$live"
    damage="needle $i flipped" expected="$live cannot be read from byte [0-9]* on"
    cp -r "$work/data" "$work/untouched"
    refused
    is 'the directories' "$(diff -r "$work/untouched" "$work/data" && echo same)" same
    rm -rf "$work/untouched"
done

test_case 'a flipped bit in the log before a kill is restored from the archive, with nothing lost'
killed_copy --archive "$archive"
it_is_archived() { grep -q 'needle-30\.' "$(find "$archive" -name 'log.*.tail')"; }
cp -r "$work/data" "$work/archived"
start_server --archive "$archive"
wait_until it_is_archived
kill -9 "$server"
wait "$server" 2>"$work/null"
server=''
cp -r "$archive" "$work/archived-archive"
for i in 1 30; do
    damage="needle $i flipped"
    rm -rf "$work/data" "$archive"
    cp -r "$work/archived-archive" "$archive"
    cp -r "$work/archived" "$work/data"
    flip_needle $i "$work/data/$live"
    mended
done

test_case 'unreadable log that the archive lacks is not skipped: the server refuses until the file is whole'
killed_copy
cp "$work/data/$live" "$work/whole"
flip_needle 15 "$work/data/$live"
timeout 300 "$KINDEX" serve --data "$work/data" --archive "$archive" \
    --listen 127.0.0.1:0 >"$work/null" 2>"$work/refusal"
is 'the exit status' $? 1
is 'what is damaged' "$(grep -c "$live cannot be read from byte [0-9]* on" "$work/refusal")" 2
is 'what to do' "$(grep -c "kindex restore $(dirname "$tail") --data NEW" "$work/refusal")" 1
kindex restore "$archive" --data "$work/elsewhere"
is 'what the archive has' "$code" 0
damage='the file is whole again'
cp "$work/whole" "$work"/data/damaged-*/"$live"
mended
cp "$work/wanted-before" "$work/wanted"

test_case 'tables that are all gone, and a log that is gone as well, are restored from the archive'
fresh_copy
damage='a table is gone'
rm "$work/data/entries.db"
mended
fresh_copy
damage='the log is gone'
rm "$work/data/$live"
mended

test_case 'log that the archive lacks is taken from the damaged directory'
fresh_copy
damage='a later log'
start_server
export KINDEX_URL=$url
kindex set unarchived 1
last=$out
whole_list >"$work/wanted"
kill -9 "$server"
wait "$server" 2>"$work/null"
flip "$work/data/entries.db" 9000
cp -r "$work/data" "$work/later"
mended

test_case 'the second start completes an interrupted repair'
later_copy() {
    fresh_copy
    rm -rf "$work/data"
    cp -r "$work/later" "$work/data"
}
later_copy
damage='the archive was damaged at first'
base=$(find "$archive" -name 'base-*')
printf 'xxxx' | dd of="$base" bs=1 seek=2000 conv=notrunc status=none
timeout "$longest" "$KINDEX" serve --data "$work/data" --archive "$archive" \
    --listen 127.0.0.1:0 >"$work/null" 2>"$work/refusal"
is 'the exit status' $? 1
cp "$work/good-archive/${base#"$archive"/}" "$base"
mended
damage='some files have gone aside'
later_copy
mkdir "$work/data/damaged-20200102T030405Z"
touch "$work/data/restoring"
mv "$work/data/entries.db" "$work/data/catalog.db" "$work"/data/damaged-*/
mended
damage='all files have gone aside, and some are restored'
later_copy
mkdir "$work/data/damaged-20200102T030405Z"
mv "$work"/data/*.db "$work"/data/log.* "$work/data/format" "$work"/data/damaged-*/
touch "$work/data/restoring" "$work/data/format"
cp "$work/good/$live" "$work/data/"
mended

test_case 'a damaged store with a damaged archive is refused, and all files are kept'
fresh_copy
flip "$work/data/entries.db" 9000
base=$(find "$archive" -name 'base-*')
printf 'xxxx' | dd of="$base" bs=1 seek=2000 conv=notrunc status=none
timeout "$longest" "$KINDEX" serve --data "$work/data" --archive "$archive" \
    --listen 127.0.0.1:0 >"$work/null" 2>"$work/refusal"
is 'the exit status' $? 1
is 'the damaged files' "$(find "$work/data" -path '*damaged-*' -name entries.db | wc -l)" 1

test_case 'a page that is damaged while the server runs is never shown, and repaired by the next start'
fresh_copy
start_server --archive "$archive" --cache 1MiB
for page in {20..60}; do
    flip "$work/data/entries.db" $((4096 * page + 100))
done
whole_list | grep -v '"error"' >"$work/found"
is 'lines that are wrong' "$(grep -vxcFf "$work/wanted" <(head -n -1 "$work/found"))" 0
is 'all of it' "$([ "$(wc -l <"$work/found")" -lt "$(wc -l <"$work/wanted")" ] || echo shown)" ''
wait_until server_is_gone
wait "$server"
is 'its exit status' $? 1
server=''
start_server --archive "$archive"
whole_list | grep -v '"end":true' >"$work/found"
is 'the entries' "$(cmp "$work/found" <(grep -v 'unarchived\|"end":true' "$work/wanted") 2>&1 && echo same)" same
is 'what the log says' "$(grep -c 'event=restored' "$log")" "$((++restores))"

finish
