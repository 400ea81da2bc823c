#!/bin/bash
# The shop with curl and jq. Usage: KINDEX_URL=http://127.0.0.1:4512 ./shop.sh
set -euo pipefail
K=${KINDEX_URL:-http://127.0.0.1:4512}
here=$(cd "$(dirname "$0")" && pwd)
copy=${COPY:-orders.json}

# Prints the answer of any status, so that the caller can look at its code.
send() {
    curl --silent --show-error "$@"
}

# Prints one entry's value; fails if there is no entry.
value() {
    send --fail "$K/kv/$1"
}

# The user must be new; that the e-mail address is unique is the index's work.
sign_up() {
    local answer
    answer=$(jq -n --arg id "$1" --arg email "$2" '{
        checks: [{key: ["users", $id], versionstamp: null}],
        mutations: [{type: "set", key: ["users", $id], value: {email: $email}}]}' |
        send "$K/atomic" --json @-)
    jq -r --arg id "$1" --arg email "$2" '
        if .ok then "\($id) signs up"
        elif .code == "unique-violation" then "\($email) belongs to \(.existingKey[1])"
        else error(.detail) end' <<<"$answer"
}

# The order and the stock that it takes are one commit: both are stored, or neither.
order() {
    local number=$1 user=$2 item=$3 count=$4 price answer
    price=$(value "items/$item" | jq .price)
    answer=$(jq -n --argjson number "$number" --arg user "$user" --arg item "$item" \
        --argjson count "$count" --argjson price "$price" --arg date "2026-11-0$number" '{
        checks: [{key: ["users", $user], exists: true}, {key: ["orders", $number], versionstamp: null}],
        mutations: [
            {type: "sum", key: ["stock", $item], value: (-$count), min: 0},
            {type: "set", key: ["orders", $number], value: {user: $user, item: $item, count: $count,
                total: ($price * $count), status: "open", date: $date}}]}' |
        send "$K/atomic" --json @-)
    case $(jq -r '.code // "ok"' <<<"$answer") in
    ok) echo "order $number: $user buys $count $item" ;;
    out-of-bounds) echo "order $number: only $(value "stock/$item") $item left" ;;
    *) jq -r .detail <<<"$answer" >&2 && return 1 ;;
    esac
}

# Newest first. The bounds of the list are values of the index's fields.
orders() {
    send --fail "$K/list?index=orders_by_status&prefix=$1&reverse=true" |
        jq -r --arg status "$1" '"\($status): " + ([.entries[] | .key[1] | tostring] | join(" "))'
}

set_status() {
    send --fail --output /dev/null --request PATCH "$K/kv/orders/=$1" \
        --json "{\"status\":\"$2\"}"
    echo "order $1 is $2"
}

sign_in() {
    send --fail --output /dev/null --request PUT "$K/kv/sessions/$RANDOM$RANDOM$RANDOM?ttl=30m" \
        --json "{\"user\":\"$1\",\"device\":\"$2\"}"
}

sessions() {
    send --fail "$K/list?index=sessions_by_user&prefix=$1" |
        jq -r --arg user "$1" '
            [.entries[].value.device] | sort | join(" ") |
            "sessions of \($user): \(if . == "" then "none" else . end)"'
}

sales() {
    send --fail "$K/indexes/orders_sales/get/$1" |
        jq -r --arg status "$1" '"\(.count) \($status) for \(.sum["/total"])"'
}

# The file has the orders, and the versionstamp up to which it has them. What has changed
# since is applied to the orders; then the file is replaced.
copy_changes() {
    local since
    [ -s "$copy" ] || echo '{"since":"","orders":{}}' >"$copy"
    since=$(jq -r .since "$copy")
    send --fail "$K/list?index=orders_changed${since:+&start=$since}" |
        jq --slurpfile old "$copy" '
            [.entries[] | select(.versionstamp > $old[0].since)] as $new |
            reduce $new[] as $e ($old[0]; .since = $e.versionstamp |
                if $e.deleted then del(.orders[$e.key[1] | tostring])
                else .orders[$e.key[1] | tostring] = $e.value end) | .changes = ($new | length)' \
            >"$copy.new"
    mv "$copy.new" "$copy"
    jq -r '"copied \(.changes), the copy has \(.orders | length)"' "$copy"
}

send --fail --output /dev/null --request PUT "$K/indexes" --json "@$here/indexes.json"
send --fail --output /dev/null "$K/atomic" --json '{"mutations":[
    {"type":"set","key":["items","pen"],"value":{"price":2}},
    {"type":"set","key":["items","ink"],"value":{"price":9.5}},
    {"type":"set","key":["stock","pen"],"value":5},
    {"type":"set","key":["stock","ink"],"value":1}]}'

sign_up ada ada@x.org
sign_up bo bo@x.org
sign_up carl ADA@x.org
order 1 ada pen 3
order 2 bo ink 1
order 3 bo pen 3
copy_changes
orders open
set_status 1 paid
orders open
orders paid
sales open
sales paid
copy_changes
sign_in ada phone
sign_in ada laptop
sessions ada
send --fail --output /dev/null --request DELETE "$K/list?index=sessions_by_user&prefix=ada"
sessions ada
