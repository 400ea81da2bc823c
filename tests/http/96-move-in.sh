#!/bin/bash
# kindex import --from: a file in which Deno or denokv keeps a store, also while a
# program writes to it. The files have the tables that Deno's migrations make;
# tests/deno/movein.mjs imports one that Deno itself has written.
. "$(dirname "$0")/../lib/http.sh"
. "$(dirname "$0")/../lib/cli.sh"
needs sqlite3
start_server
export KINDEX_URL=$url

# store FILE MIGRATION: the tables after that many migrations
store() {
    sqlite3 "$1" >"$work/null" "pragma journal_mode = wal;
        create table migration_state(k integer not null primary key, version integer not null);
        insert into migration_state values (0, $2);
        create table data_version(k integer primary key, version integer not null);
        create table kv(k blob primary key, v blob not null, v_encoding integer not null,
            version integer not null) without rowid;"
    [ "$2" -lt 2 ] || sqlite3 "$1" "
        create table queue(ts integer not null, id text not null, data blob not null,
            backoff_schedule text not null, keys_if_undelivered blob not null, primary key (ts, id));
        create table queue_running(deadline integer not null, id text not null, data blob not null,
            backoff_schedule text not null, keys_if_undelivered blob not null, primary key (deadline, id));"
    [ "$2" -lt 3 ] || sqlite3 "$1" "
        alter table kv add column seq integer not null default 0;
        alter table data_version add column seq integer not null default 0;
        alter table kv add column expiration_ms integer not null default -1;"
}

# row FILE KEY ENCODING VALUE VERSION [EXPIRY]: key and value in hexadecimal digits
row() {
    sqlite3 "$1" "insert into kv (k, v, v_encoding, version${6:+, expiration_ms})
        values (x'$2', x'$4', $3, $5${6:+, $6})"
}

# part TEXT: a string as a part of a key
part() {
    printf '02%s00' "$(printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n')"
}

stamp_of() {
    kindex get "$1" -o json
    jq -r .versionstamp <<<"$out"
}

one=ff0f4902 # V8's 1
file=$work/kv.sqlite3

test_case 'values of every encoding are imported with their expiry'
store "$file" 3
row "$file" "$(part v)$(part v8)" 1 ff0f6f2201614902227a4900247b02 1
sqlite3 "$file" "update kv set v = x'ff0f6f22016149027b01'"
row "$file" "$(part v)$(part date)" 1 ff0f4400004c2bcd787842 2
row "$file" "$(part v)$(part counter)" 2 ffffffffffffffff 3
row "$file" "$(part v)$(part bytes)" 3 00ff10 4 4000000000001
row "$file" "$(part v)$(part late)" 1 $one 5 9223372036854775807
row "$file" "$(part gone)" 1 $one 6 1000
kindex import --from "$file"
ends 0
complains 'imported 5 entries in '
complains '1 had expired'
complains '           5  \["v"\]'
is 'lines about expired entries' "$(grep -c '"gone"' <<<"$complaint")" 0
kindex export v
is typed "$(jq -c '[.key[1], .value // .typed, .expiresAt]' "$work/out")" \
    '["bytes",{"type":"Uint8Array","value":"AP8Q","byteLength":3},4000000000001]
["counter",{"type":"KvU64","value":"18446744073709551615"},null]
["date",{"type":"Date","value":"2023-04-17T01:27:11.808Z"},null]
["late",1,9007199254740991]
["v8",{"a":1},null]'

test_case 'versionstamps have the order of the versions, and are equal in a commit'
row "$file" "$(part o)$(part a)" 1 $one 30
row "$file" "$(part o)$(part b)" 1 $one 10
for key in c d e; do row "$file" "$(part o)$(part $key)" 1 $one 20; done
kindex import --from "$file" --batch 2
ends 0
complains 'imported 5 entries in '
complains '5 existed already'
b=$(stamp_of o/b) c=$(stamp_of o/c) e=$(stamp_of o/e) a=$(stamp_of o/a)
is 'the order' "$([[ $b < $c && $c < $a ]] && echo kept)" kept
is 'the stamps of one commit' "$(stamp_of o/d) $e" "$c $c"

test_case 'a commit with 1000 entries is one commit also in smaller batches'
sqlite3 "$file" "with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000)
    insert into kv (k, v, v_encoding, version)
    select cast(x'02' || 'big' || x'0002' || printf('%04d', n) || x'00' as blob), x'$one', 1, 40 from c"
kindex import --from "$file" --batch 10
ends 0
complains 'imported 1000 entries'
kindex ls -o json --prefix big
is stamps "$(jq -r .versionstamp "$work/out" | sort -u | wc -l)" 1

test_case 'a store is imported while a program has it open and has written to its log'
mkfifo "$work/statements"
sqlite3 "$file" <"$work/statements" >"$work/said" &
writer=$!
exec 7>"$work/statements"
echo "insert into kv (k, v, v_encoding, version) values (x'$(part live)', x'$one', 1, 50); select 'written';" >&7
wait_until grep -q written "$work/said"
is 'the log' "$([ -s "$file-wal" ] && echo 'has bytes')" 'has bytes'
kindex import --from "$file"
ends 0
complains 'imported 1 entries'
kindex get live
prints 1
exec 7>&-
wait $writer
is 'the exit status of the writer' $? 0

test_case 'an import from a store keeps what is stored, and changes nothing with --dry-run'
kindex set live 2
kindex import --from "$file"
ends 0
complains 'imported 0 entries'
kindex get live
prints 2
kindex import --from "$file" --overwrite
ends 0
kindex get live
prints 1
kindex import --from "$file" --prefix copy --dry-run
ends 0
complains 'would import 1011 entries'
kindex count copy
prints 0
kindex import --from "$file" --prefix copy
ends 0
kindex count copy
prints 1011

test_case 'entries that cannot be stored are named, counted and left out'
bad=$work/bad.sqlite3
store "$bad" 3
row "$bad" "$(part ok)" 1 $one 1
row "$bad" 77 1 $one 2
row "$bad" "$(part "$(printf 'x%.0s' {1..2050})")" 1 $one 3
row "$bad" "$(part torn)" 1 ff0f6f 4
row "$bad" "$(part short)" 2 01 5
row "$bad" "$(part odd)" 9 01 6
kindex import --from "$bad"
ends 1
complains 'imported 1 entries'
complains 'left out key 0x77: '
complains 'left out \["torn"\]: '
complains 'left out \["short"\]: The KvU64 has 1 bytes instead of 8.'
complains 'left out \["odd"\]: The value encoding 9 is unknown.'
complains '5 entries were left out'
long=$(printf 'y%.0s' {1..1000})
kindex import --from "$bad" --prefix "$long$long" --dry-run
ends 1
row "$bad" "$(part "$long")" 1 $one 7
kindex import --from "$bad" --prefix "$long$long"
ends 1
complains 'encoded bytes with the prefix; the limit is 2048.'
complains '6 entries were left out'

test_case 'the entry that the server refuses is named by its key'
kindex index add by_a u a --unique
row "$bad" "$(part u)$(part 1)" 1 ff0f6f22016149027b01 8
row "$bad" "$(part u)$(part 2)" 1 ff0f6f22016149027b01 9
kindex import --from "$bad"
ends 4
complains 'that is the entry \["u","2"\]'
complains 'run the same command again'

test_case 'stores of earlier migrations are read, and queued messages are counted'
for migration in 1 2; do
    store "$work/m$migration" $migration
    row "$work/m$migration" "$(part "m$migration")" 1 $one 1
done
sqlite3 "$work/m2" "insert into queue values (1, 'a', x'00', '[]', x''), (2, 'b', x'00', '[]', x'')"
for migration in 1 2; do
    kindex import --from "$work/m$migration"
    ends 0
    [ $migration = 1 ] || complains '2 queued messages were not imported'
    kindex get m$migration
    prints 1
done

test_case 'queued messages become jobs of a queue'
store "$work/queued" 3
row "$work/queued" "$(part q)" 1 $one 1
row "$work/queued" 77 1 $one 2 # cannot be stored
sqlite3 "$work/queued" "insert into queue values (1000, 'due', x'ff0f22026869', '[100]', '[]'),
    (4102444800000, 'late', x'ff0f6f22016149027b01', '[100]', '[]'),
    (2000, 'date', x'ff0f6f22016444000080d21fce77427b01', '[100]', '[]');
    insert into queue_running values (3000, 'running', x'ff0f4906', '[100]', '[]')"
kindex import --from "$work/queued" --queue-to jobs/mail
ends 1
complains 'imported 5 entries'
complains '4 queued messages became jobs'
request POST /indexes '{"name":"jobs_due","prefix":["jobs","mail"],"fields":["/due"],"queue":{"lease":"60s"}}' -H 'Prefer: wait=30'
expect 201
answers 200 POST '/queues/jobs_due/claim?limit=10'
field '[.jobs[] | [.key[2], .value.message // .typed.value.message.type // .typed.value.message.value]]' '[["due","hi"],["date","object"],["running",3]]'
answers 200 GET /queues/jobs_due
field '[.leased, .waiting]' '[3,1]'
kindex get jobs/mail/late
prints '{"due":4102444800000,"message":{"a":1}}'
kindex import --from "$work/queued" --queue-to jobs/mail --prefix copy
ends 1
kindex count copy/jobs/mail
prints 4
sqlite3 "$work/queued" "insert into queue values (1, 'blob', x'ff0f6f2201615e007b01', '[]', '[]')"
kindex import --from "$work/queued" --queue-to jobs/mail
ends 1
complains 'left out \["jobs","mail","blob"\]: The message cannot be a member of an object.'
kindex import --queue-to jobs
ends 2

test_case 'files that are not such a store are refused with the reason'
store "$work/m4" 4
kindex import --from "$work/m4"
ends 1
complains 'has the tables of migration 4; this version of kindex reads migrations 1 to 3'
sqlite3 "$work/other" 'create table kv(a)'
kindex import --from "$work/other"
ends 1
complains 'is not a Deno KV store'
echo 'this is text, and no database, in more than a hundred bytes of which none is a header of a database file' >"$work/text"
kindex import --from "$work/text"
ends 1
complains 'is not an SQLite file'
kindex import --from "$work/none"
ends 1
complains 'unable to open'
kindex import "$work/text" --from "$file"
ends 2

test_case 'the indexes that are kept by hand in a file are found without a server'
store "$work/hand" 3
for n in {10..39}; do
    echo "insert into kv (k, v, v_encoding, version) values
        (x'$(part u)$(part "$n")', x'ff0f6f2201652205$(printf 'm%s@x' "$n" | od -An -v -tx1 | tr -d ' \n')7b01', 1, $n),
        (x'$(part by_e)$(part "m$n@x")', x'ff0f2202$(printf %s "$n" | od -An -v -tx1 | tr -d ' \n')', 1, $n);"
done | sqlite3 "$work/hand"
row "$work/hand" 77 1 $one 90 # cannot be stored
KINDEX_URL=http://127.0.0.1:1 kindex index discover --from "$work/hand" -o declarations
ends 0
is declarations "$(jq -c . "$work/out")" '{"by_e":{"prefix":["u"],"fields":[{"path":"/e"}],"unique":true,"adopt":true}}'
sqlite3 "$work/hand" "delete from kv where k = x'$(part u)$(part 20)'"
KINDEX_URL=http://127.0.0.1:1 kindex index discover --from "$work/hand"
ends 4

test_case 'a damaged store is reported, and nothing of it is stored'
sqlite3 "$file" 'pragma wal_checkpoint(truncate); pragma journal_mode = delete;' >"$work/null"
cp "$file" "$work/damaged"
pages=$(sqlite3 "$file" "select group_concat(pageno, ' ') from dbstat where name = 'kv' and pagetype = 'leaf'" 2>"$work/null")
page=${pages##* }
size=$(sqlite3 "$file" 'pragma page_size')
page=${page:-$(($(stat -c %s "$file") / size))}
dd if=/dev/zero of="$work/damaged" bs="$size" seek=$((page - 1)) count=1 conv=notrunc 2>"$work/null"
kindex import --from "$work/damaged" --prefix damaged
ends 1
complains 'is damaged: '
kindex count damaged
prints 0
finish
