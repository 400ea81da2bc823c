#!/bin/bash
# Point 7: no inner header is in too many files. The public ones may be anywhere.
. tests/shape/lib.sh

files=${#sources[@]}
worst=$(grep -hoE '^#include "[^"]+"' "${sources[@]}" | awk '{ print $2 }' |
        tr -d '"' | grep -vE '^kindex(/|\.h$)' | sort | uniq -c | sort -rn |
        awk -v files="$files" 'NR == 1 { print int($1 * 100 / files + 0.5), $2 }')
share=${worst%% *}
row 7 "most included inner header (${worst#* }), % of files" "${share:-0}" 35 \
    "$(within "${share:-0}" 35)"
