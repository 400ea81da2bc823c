#!/bin/bash
# DELETE /list?index=..: entries are removed in the order of an index, by its values.
. "$(dirname "$0")/../lib/http.sh"
start_server

request POST /indexes '{"name":"by_tag","prefix":["docs"],"fields":[{"path":"/tags","each":true}]}'
request POST /indexes '{"name":"by_n","prefix":["docs"],"fields":["/n"],"unique":true}'
for n in 0 1 2 3 4 5; do
    request PUT "/kv/docs/=$n" "{\"n\":$n,\"tags\":[\"t$((n % 2))\",\"all\"]}"
done
keys() {
    gives '[.entries[].key[1]]' "$1" GET "/list?prefix=docs&keys=true"
}
remove() { # QUERY DELETED MORE
    answers 200 DELETE "/list?$1"
    field '[.ok, .deleted, .more]' "[true,$2,$3]"
}

test_case 'DELETE by an index with dry=1 counts, and removes nothing'
remove 'index=by_tag&prefix=t1&dry=1' 3 false
field '[.versionstamp, .dry]' '[null,true]'
remove 'index=by_tag&prefix=t1&limit=2&dry=1' 2 true
remove 'prefix=docs&dry=1' 6 false
keys '[0,1,2,3,4,5]'

test_case 'DELETE of a value of an index removes its entries, with all their index entries'
remove 'index=by_tag&prefix=t1' 3 false
keys '[0,2,4]'
gives .count 6 GET '/count?index=by_tag'
gives .count 3 GET '/count?index=by_n'

test_case 'DELETE of a range of a unique index removes a part in each commit'
remove 'index=by_n&start==1&limit=1' 1 true
keys '[0,4]'
remove 'index=by_n&start==1&end==4' 0 false
remove 'index=by_n&prefix=[]' 2 false
keys '[]'

test_case 'DELETE by an index removes an entry with several values of the range once'
for n in 0 1 2; do
    request PUT "/kv/docs/=$n" '{"tags":["a","b","c"]}'
done
remove 'index=by_tag&start=a&limit=2' 2 true
remove 'index=by_tag&start=a&limit=2' 1 false
gives .count 0 GET '/count?index=by_tag'

test_case 'DELETE by an index without a selection removes nothing'
for query in index=by_tag 'index=by_tag&prefix=' 'index=by_tag&start=&end='; do
    answers 400 bad-parameter DELETE "/list?$query"
done
answers 404 index-not-found DELETE '/list?index=none&prefix=a'
field .index none

test_case 'DELETE by an index needs the rights to write and to list its prefix'
stop_server
start_server --token-file "$work/token"
admin=$(cat "$work/token")
try() { # SCOPES PREFIX STATUS CODE
    request POST /tokens "{\"name\":\"t\",\"grants\":[{\"scopes\":$1,\"prefix\":$2}]}" --oauth2-bearer "$admin"
    token=$(value .token)
    request DELETE '/list?index=by_tag&prefix=a' '' --oauth2-bearer "$token"
    expect "$3" "${@:4}"
}
try '["write","list"]' '["docs"]' 200
try '["write"]' '["docs"]' 403 forbidden
try '["list"]' '["docs"]' 403 forbidden
try '["write","list"]' '["by_tag"]' 403 forbidden

finish
