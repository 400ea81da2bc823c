#!/bin/bash
# The audit log: exactly one line of the log for each thing that an administrator
# does and for each denial, with the request's identifier and without secrets.
. "$(dirname "$0")/../lib/http.sh"
json=(--header 'Content-Type: application/json')
declaration='{"name":"by_n","prefix":["users"],"fields":["/n"]}'
grant='{"name":"app","grants":[{"scopes":["read","write"],"prefix":["users"]}]}'
start_server --token-file "$work/token"
admin=$(cat "$work/token")
admin_id=${admin:7:16}

# act TOKEN METHOD PATH [BODY...]: with a new identifier, $id
number=0
act() {
    local token=$1
    shift
    number=$((number + 1))
    id=action-$number
    request "$1" "$2" "${3:-}" "${json[@]}" --header "X-Request-Id: $id" \
        --header "Authorization: Bearer $token"
}
# The audit lines of the last act, without the identifier that they end with.
lines() {
    sed -n "s/^level=[a-z]* \(event=audit.*\) id=$id\$/\1/p" "$log"
}
audited() { is 'audit lines' "$(lines)" "$1"; }
# A build may have ended before the answer.
audited_set() { is 'audit lines' "$(lines | sed 's/status=202/status=200/')" "$1"; }

test_case 'each change of an index has a line in the audit log, and so has a refused one'
act "$admin" POST /indexes "$declaration"
expect 201
audited "event=audit operation=declareIndex token=$admin_id status=201 subject=by_n"
act "$admin" POST '/indexes?dry=1' '{"name":"by_m","prefix":["users"],"fields":["/m"]}'
expect 200
audited "event=audit operation=declareIndex token=$admin_id status=200 subject=by_m dry=1"
act "$admin" POST /indexes '{"name":"by_n","prefix":["users"],"fields":["/m"]}'
expect 409
audited "event=audit operation=declareIndex token=$admin_id status=409"
act "$admin" DELETE /indexes/by_n
expect 204
audited "event=audit operation=dropIndex token=$admin_id status=204 subject=by_n"
act "$admin" DELETE /indexes/by_n
expect 404
audited "event=audit operation=dropIndex token=$admin_id status=404 subject=by_n"

test_case 'each index that a set of declarations changes has a line in the audit log'
set='{"by_n":{"prefix":["users"],"fields":["/n"]},"by_m":{"prefix":["users"],"fields":["/m"]}}'
act "$admin" PUT '/indexes?dry=1' "$set"
audited_set "event=audit operation=declareIndexes token=$admin_id status=200 dry=1"
act "$admin" PUT /indexes '{"by_n":{"prefix":["users"],"fields":["/n"]}}'
audited_set "event=audit operation=declareIndexes token=$admin_id subject=by_n change=declared
event=audit operation=declareIndexes token=$admin_id status=200"
act "$admin" PUT /indexes "$set"
audited_set "event=audit operation=declareIndexes token=$admin_id subject=by_m change=declared
event=audit operation=declareIndexes token=$admin_id status=200"
act "$admin" PUT '/indexes?prune=1' '{"by_n":{"prefix":["users"],"fields":["/n"],"unique":true}}'
audited_set "event=audit operation=declareIndexes token=$admin_id subject=by_n change=changed
event=audit operation=declareIndexes token=$admin_id subject=by_m change=dropped
event=audit operation=declareIndexes token=$admin_id status=200"
act "$admin" PUT /indexes '{"by_m":{}}'
expect 400
audited_set "event=audit operation=declareIndexes token=$admin_id status=400"

test_case 'each token that is made or revoked has a line in the audit log'
act "$admin" POST /tokens "$grant"
expect 201
app=$(jq -r .token "$answer")
app_id=${app:7:16}
audited "event=audit operation=createToken token=$admin_id status=201 subject=$app_id"
act "$admin" GET /tokens
expect 200
audited "event=audit operation=listTokens token=$admin_id status=200"

test_case 'a backup has a line in the audit log'
act "$admin" GET /backup
is status "$status" 200
audited "event=audit operation=getBackup token=$admin_id status=200"

test_case 'a denial in the audit log has the token, the operation, and no key'
act "$app" PUT /kv/users-too/ada '{"n":1}'
expect 403
key=$(lines | sed -n 's/.* key_sha256=//p')
is 'digest of the key' "$([[ $key =~ ^[0-9a-f]{16}$ ]] && echo yes)" yes
audited "event=audit-denied method=PUT operation=putEntry token=$app_id status=403 key_sha256=$key"
act "$app" POST /indexes "$declaration"
expect 403
is 'line without its key' "$(lines | sed 's/ key_sha256=.*//')" \
    "event=audit-denied method=POST operation=declareIndex token=$app_id status=403"
act "${app%????}AAAA" GET /kv/users/ada
expect 401
audited 'event=audit-denied method=GET operation=getEntry token=none status=401'

test_case 'many denials without a token do not hide one of a token'
curl --silent --output "$work/null" "$url/kv/users/[1-120]"
act "$app" GET /kv/users-too/ada
expect 403
is 'its line' "$(lines | grep -c "event=audit-denied method=GET operation=getEntry token=$app_id status=403")" 1

test_case 'permitted reads and writes have no line in the audit log'
act "$admin" PUT /kv/users/ada '{"n":1}'
expect 201
audited ''
act "$app" GET /kv/users/ada
expect 200
audited ''

test_case 'a secret in a path does not appear in the log'
act "$admin" DELETE "/tokens/$app"
is 'not done' "$([ "$status" -ge 400 ] && echo yes)" yes
is 'line' "$(lines | grep -c 'event=audit operation=revokeToken')" 1
act "$admin" DELETE "/tokens/$app_id"
expect 204
audited "event=audit operation=revokeToken token=$admin_id status=204 subject=$app_id"
act "$app" GET /kv/users/ada
expect 401
is 'secrets in the log' "$(grep -cF -e "${admin:24}" -e "${app:24}" "$log")" 0
is 'secrets that would be found' \
    "$(printf 'x %s\n' "$admin" | grep -cF -e "${admin:24}" -e "${app:24}")" 1
finish
