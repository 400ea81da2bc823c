#!/bin/bash
# PATCH changes any part of an index: the new form is built beside the old one,
# which is read, and kept right, until the switch.
. "$(dirname "$0")/../lib/http.sh"
start_server

for i in {0..2}; do
    request POST /atomic "$(jq -nc --argjson i "$i" '{mutations: [range(1000) | {type: "set", key: ["u", . + 1000 * $i],
        value: {email: "user\(. + 1000 * $i)@x.org", n: 0}}]}')"
done
request PUT /kv/u/=77 '{"email":"user77@x.org","n":33}'
request POST /indexes '{"name":"by_email","prefix":["u"],"fields":["/email"],"unique":true}'
until_field .state ready GET /indexes/by_email

test_case 'any part of a declaration can migrate: the old form stays until the switch'
change() { # PATCH PART-OF-THE-RESULT
    answers 200 PATCH /indexes/by_email "$1" -H "Prefer: wait=$patience"
    field "$2" "$3"
}
keys() {
    gives '[.entries[].key]' "$2" GET "/list?prefix=by_email&keys=true&limit=$1"
}
change '{"fields":["/n",{"path":"/email","order":"desc"}],"unique":null}' .fields '[{"path":"/n"},{"path":"/email","order":"desc"}]'
gives '[.entries[].value.email]' '["user9@x.org","user99@x.org"]' GET '/list?index=by_email&prefix==0&limit=2'
change '{"fields":["/email"],"where":{"path":"/email","lt":"user1001"}}' .entries 2
keys 9 '[["by_email","user0@x.org",0],["by_email","user1000@x.org",1000]]'
request POST /indexes/by_email/pause
answers 202 PATCH /indexes/by_email '{"prefix":["v"],"depth":1,"where":null,"missing":"null"}'
field .migration.to '{"unique":false,"store":"pointer","prefix":["v"],"depth":1,"missing":"null","where":null}'
request POST /atomic '{"mutations":[{"type":"set","key":["v",1],"value":{"email":"a"}},{"type":"set","key":["v",2],"value":{}},{"type":"delete","key":["u",1000]}]}'
expect 200
keys 9 '[["by_email","user0@x.org",0]]'
request POST /indexes/by_email/resume
until_field '[.state, .prefix]' '["ready",["v"]]' GET /indexes/by_email
gives '[.entries[].key]' '[["v",2],["v",1]]' GET '/list?index=by_email'
request POST /indexes/by_email/verify
until_field .state done GET /indexes/by_email/verify
field '[.done, .missing, .dangling, .stale, .duplicate]' '[4,0,0,0,0]'

test_case 'entries of an index migrate to totals, and totals to others'
change '{"prefix":["u"],"depth":null,"missing":null,"fields":[],"store":{"aggregate":{"count":true}}}' .entries 1
request GET /kv/by_email
body_is '{"count":2999}'
change '{"store":{"aggregate":{"sum":["/n"]}}}' .entries 1
gives '[.count, .sum["/n"]]' '[2999,"33"]' GET '/aggregate?index=by_email'

test_case 'an index of changes begins its history at the switch: clients of the old one list again'
change '{"fields":[{"versionstamp":true}],"store":"pointer","tombstones":"1h"}' .tombstones 1h
request PUT /kv/u/=4 '{"email":"four@x.org","n":0}'
start=$(value .versionstamp)
curl -sN -m "$patience" "$url/watch?index=by_email&since=$start" >"$work/stream" &
stream=$!
request PUT /kv/u/=5 '{"email":"five@x.org","n":0}'
wait_until grep -q five "$work/stream"
change '{"where":{"path":"/n","ge":1}}' .entries 1
wait $stream
is 'the end of the stream' "$(grep -A1 '^event: error' "$work/stream" | sed -n 's/^data: //p' | jq -r .code)" history-gone
answers 410 history-gone GET "/watch?index=by_email&since=$start"

finish
