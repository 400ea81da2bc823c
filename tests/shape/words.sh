#!/bin/bash
# Point 14: words that make a reader stumble, in comments, messages, documents
# and tests. Each line of words.txt has the number of lines that may still have
# a word, and the word as an extended regular expression.
. tests/shape/lib.sh

mapfile -t texts < <(find src api deploy tests Makefile README.md openapi.yaml \
    -name node_modules -prune -o -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.js' \
    -o -name '*.mjs' -o -name '*.md' -o -name '*.yaml' -o -name Makefile \) -print 2>/dev/null |
    grep -v '^tests/shape/words\.' | LC_ALL=C sort)

sed '/^#/d; /^$/d' tests/shape/words.txt | while read -r cap word; do
    found=$(LC_ALL=C grep -nwiE -e "$word" "${texts[@]}")
    [ "$(grep -c . <<<"$found")" -le "$cap" ] || {
        echo "$word: $(wc -l <<<"$found") lines, at most $cap:"
        cut -d: -f1,2 <<<"$found" | head -10 | sed 's/^/    /'
    }
done | blamed 14 "words that make a reader stumble" 0
