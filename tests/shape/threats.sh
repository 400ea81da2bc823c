#!/bin/bash
# Point 18: each line of the threat model names a test that exists: a story and its case.
. tests/shape/lib.sh

lines=0
missing=$(
    sed -n '/^|/p' deploy/threats.md | sed 1,2d | while IFS= read -r line; do
        test=${line%|}
        test=${test##*|}
        story=$(sed -n 's/^ *`\([^`]*\)`: .*/\1/p' <<<"$test")
        sentence=$(sed 's/^ *`[^`]*`: //; s/ *$//' <<<"$test")
        [ -n "$story" ] && grep -qF "test_case '$sentence'" "tests/http/$story.sh" ||
            echo "deploy/threats.md: no test:$test"
    done
)
lines=$(grep -c '^|' deploy/threats.md)
[ "$lines" -gt 20 ] || missing+="deploy/threats.md: has only $lines lines"
printf '%s' "$missing" | blamed 18 "threats whose test does not exist" 0
