#!/bin/bash
# Addresses of a backup that are good once: for a download without a token.
. "$(dirname "$0")/../lib/http.sh"
needs zstd
program() {
    code=0
    KINDEX_URL=$url timeout "$longest" "$KINDEX" "$@" >"$work/said" 2>"$work/complaint" || code=$?
}
# The members of the backup in the last answer.
members() { zstd -dcq "$answer" 2>"$work/null" | tar -t 2>"$work/null"; }
start_server --slow-ms 0
request PUT /kv/a 1

test_case 'a ticket is the address of one backup'
answers 201 POST /backup/tickets
header Cache-Control no-store
address=$(value .address)
header Location "$address"
is 'it ends within a minute' "$(($(value .expiresAt) / 1000 - $(date +%s) <= 60))" 1
answers 200 GET "$address"
header Content-Type application/zstd
header Content-Disposition 'attachment; filename="backup.tar.zst"'
is 'the last member' "$(members | tail -1)" SHA256SUMS
answers 404 not-found GET "$address"
is 'what to do is told' "$(value .detail | grep -c 'POST /backup/tickets')" 1
answers 404 not-found GET "/backup/tickets/${address:16:20}"
answers 400 unknown-parameter POST '/backup/tickets?x=1'
answers 413 payload-too-large POST /backup/tickets x

test_case 'kindex backup --link prints the whole address of a ticket'
program backup --link
is 'exit status' $code 0
link=$(cat "$work/said")
is 'it begins with the server' "${link:0:${#url}}" "$url"
answers 200 GET "${link:${#url}}"

test_case 'no log and no list of slow requests has a ticket'
request GET /slow
field '[.requests[] | select(.route == "/backup/tickets/{ticket}") | .target] | unique' '["/backup/tickets/{ticket}"]'
is 'what has it' "$(grep -c "${address:16}" "$answer") $(grep -c "${address:16}" "$log")" '0 0'

test_case 'a limited number of tickets is open, and a used one makes room'
for ((i = 0; i < 16; i++)); do
    answers 201 POST /backup/tickets
    [ $i -gt 0 ] || first=$(value .address)
done
address=$(value .address)
answers 503 overloaded POST /backup/tickets
answers 200 GET "$address"
answers 201 POST /backup/tickets
second=$(value .address)

test_case 'a download begun without tokens is cut off when the first token is made'
request GET "$first"
request GET "$second"
for i in {1..400}; do
    printf '{"key":["rows",%d],"value":"%s"}\n' $i "$(head -c 45000 /dev/urandom | base64 -w 0)"
done >"$work/rows"
program import "$work/rows"
is 'exit status' $code 0
request POST /backup/tickets
old=$(value .address)
answers 201 POST /backup/tickets
mkfifo "$work/pipe"
{ curl --silent --max-time "$longest" "$url$(value .address)"
    echo $? >"$work/exit"; } >"$work/pipe" &
curl=$!
exec 3<"$work/pipe"
is 'it has begun' "$(head -c 1 <&3 | wc -c)" 1
program token create operator all
operator=$(cat "$work/said")
cat <&3 >"$work/torn"
exec 3<&-
wait $curl
is 'curl misses the end' "$(cat "$work/exit")" 18

test_case 'only an administrator of all keys makes a ticket, which needs no token'
answers 404 not-found GET "$old"
stop_server
start_server
answers 401 unauthorized POST /backup/tickets
export KINDEX_TOKEN=$operator
program token create narrow admin,read:a
answers 403 forbidden POST /backup/tickets '' --header "Authorization: Bearer $(cat "$work/said")"
program token create keeper admin:
keeper=$(cat "$work/said")
answers 201 POST /backup/tickets '' --header "Authorization: Bearer $keeper"
answers 200 GET "$(value .address)"
is 'the last member' "$(members | tail -1)" SHA256SUMS
is 'the audit has its maker, and not the ticket' \
    "$(grep 'operation=getBackupByTicket' "$log" | grep -c "token=${keeper:7:16} status=200")" 1

test_case 'a ticket expires with the token of its maker'
answers 201 POST /backup/tickets '' --header "Authorization: Bearer $keeper"
address=$(value .address)
program token revoke "${keeper:7:16}"
answers 404 not-found GET "$address"
stop_server

finish
