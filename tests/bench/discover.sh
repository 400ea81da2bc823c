#!/bin/bash
# Seconds of kindex index discover over a million entries: users, pointers to them
# by e-mail, and copies by colour. It fails if an index is not found, or found to
# be wrong.
#
#   tests/bench/discover.sh [ROUNDS] [USERS]
set -eu
. "$(dirname "$0")/serve.sh"
KINDEX=${KINDEX:-$(dirname "$0")/../../build/kindex}
rounds=${1:-3} users=${2:-333334}
work=$(mktemp -d "${TMPDIR:-/tmp}/kindex-discover.XXXXXX")
trap 'server_end TERM; rm -rf "$work"' EXIT

node -e '
    const COLOURS = ["black", "blue", "cyan", "gray", "green", "pink", "red", "white"];
    const users = Number(process.argv[1]);
    const user = (n) => `u${String(n).padStart(7, "0")}`;
    const value = (n) => JSON.stringify({ id: user(n), name: `Name ${n}`,
        email: `User.${user(n)}@example.org`, favoriteColor: COLOURS[n % 8], bio: "x".repeat(60) });
    const lines = [];
    for (let n = 0; n < users; n++)
        lines.push(`{"key":["users","${user(n)}"],"value":${value(n)}}\n`);
    for (let n = 0; n < users; n++)
        lines.push(`{"key":["users_by_email","user.${user(n)}@example.org"],"value":"${user(n)}"}\n`);
    for (let colour = 0; colour < 8; colour++)
        for (let n = colour; n < users; n += 8)
            lines.push(`{"key":["users_by_favorite_color","${COLOURS[colour]}","${user(n)}"],"value":${value(n)}}\n`);
    require("fs").writeFileSync(process.argv[2], lines.join(""));' "$users" "$work/lines"
server_begin "$KINDEX"
"$KINDEX" import "$work/lines" --url "$url" 2>"$work/progress"
for ((round = 0; round < rounds; round++)); do
    began=$(date +%s%N)
    found=$("$KINDEX" index discover --url "$url" -o json | jq -c '[.indexes[].agree]')
    ended=$(date +%s%N)
    [ "$found" = "[$users,$users]" ] || { echo "found $found"; exit 1; }
    printf '%d.%03d s\n' $(((ended - began) / 1000000000)) $(((ended - began) / 1000000 % 1000))
done
grep VmHWM "/proc/$server/status"
