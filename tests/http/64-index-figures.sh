#!/bin/bash
# What an index costs and how much it is used: sizes, writes, reads, the time of
# the last one.
. "$(dirname "$0")/../lib/http.sh"
start_server

metric() { # METRIC INDEX
    curl -s "$url/metrics" | sed -n "s/^$1{index=\"$2\"} //p"
}

use() { # INDEX FILTER
    request GET "/indexes/$1"
    value "$2"
}

request POST /indexes '{"name":"by_email","prefix":["users"],"fields":["/email"],"unique":true}'
request POST /indexes '{"name":"by_color","prefix":["users"],"fields":["/color"]}'
request POST /indexes '{"name":"unused","prefix":["users"],"fields":["/color"],"store":"value"}'

test_case 'a new index is empty and was never read'
is 'the figures' "$(use by_email '[.entries, .bytes, .use.reads, .use.writes, .use.lastReadAt]')" '[0,0,0,0,null]'
is 'counted since it was declared' "$(use by_email ".use.since > (now - 60) * 1000 and .use.since <= (now + 1) * 1000")" true

test_case 'each index entry that a commit puts or removes is a write'
for i in {1..10}; do
    request PUT "/kv/users/u$i" "{\"email\":\"u$i@x.org\",\"color\":\"blue\",\"text\":\"$(printf '%0200d' 0)\"}"
done
is 'puts' "$(use by_email '[.entries, .use.writes]')" '[10,10]'
request PATCH /kv/users/u1 '{"color":"red"}'
is 'nothing of it changed' "$(use by_email .use.writes)" 10
is 'one removed, one put' "$(use by_color .use.writes)" 12
request DELETE /kv/users/u1
is 'removed' "$(use by_color '[.entries, .use.writes]')" '[9,13]'
request POST /atomic '{"dry":true,"mutations":[{"type":"delete","key":["users","u2"]}]}'
answers 409 unique-violation PUT /kv/users/u3 '{"email":"u2@x.org"}'
is 'a commit that is dry or refused writes nothing' "$(use by_color .use.writes) $(use by_email .use.writes)" '13 11'

test_case 'the bytes of an index are those of its keys and values'
is 'pointers are small' "$(use by_color '.bytes > 9 * 20 and .bytes < 9 * 60')" true
is 'copies are not' "$(use unused '.bytes > 9 * 200 and .bytes < 9 * 320')" true

test_case 'every read of an index counts as a read'
before=$(use by_email .use.reads)
request GET /indexes/by_email/get/u2@x.org
request GET '/list?index=by_email'
request GET '/count?index=by_email'
request GET /kv/by_email/u2@x.org
request GET '/list?prefix=by_email'
request POST /get '{"keys":[["by_email","u2@x.org"]],"ranges":[{"index":"by_email"}]}'
is 'seven reads' "$(use by_email ".use.reads - $before")" 7
is 'the last one is now' "$(use by_email '.use.lastReadAt >= .use.since and .use.lastReadAt <= (now + 1) * 1000')" true

test_case 'reading entries, or asking about an index, does not count as a read of the index'
request GET '/list?prefix=users'
request GET '/list?prefix=[]'
request GET /indexes
request GET /kv/users/u2
is 'unused' "$(use unused '[.use.reads, .use.lastReadAt]')" '[0,null]'
gives '[.indexes[] | select(.use.reads == 0) | .name]' '["by_color","unused"]' GET /indexes

test_case 'the metrics show the reads, writes and sizes of indexes'
is 'reads' "$(metric kindex_index_reads_total by_email)" "$(use by_email .use.reads)"
is 'writes' "$(metric kindex_index_writes_total by_color)" 13
is 'bytes' "$(metric kindex_index_bytes unused)" "$(use unused .bytes)"
is 'entries' "$(metric kindex_index_entries by_color)" 9
is 'never read' "$(metric kindex_index_last_read_time_seconds unused)" 0
is 'last read' "$(awk -v t="$(metric kindex_index_last_read_time_seconds by_email)" 'BEGIN {print (t > 1700000000)}')" 1

test_case 'a restart resets the counts of an index, and its sizes stay'
bytes=$(use unused .bytes)
stop_server
start_server
is 'after a restart' "$(use by_email '[.entries, .use.reads, .use.writes, .use.lastReadAt]')" '[9,0,0,null]'
is 'the size' "$(use unused .bytes)" "$bytes"

finish
