#!/bin/bash
# Point 2: files are cut where there is a seam. A function that only one other file
# calls, in its own room, shows that one noun lies in two files. Tests do not count.
# The caps only fall.
. tests/shape/lib.sh

# Lines "file caller..." of all functions that are not static: the function's file,
# its name, and the other files of the product that name it.
calls() {
    {
        ctags -x --languages=C --kinds-C=f --_xformat='%N %F %{file}' "${units[@]}" |
            awk '$3 != "file" { print "function", $1, $2 }'
        for file in "${units[@]}"; do
            echo "file $file"
            sed -e 's|"\(\\.\|[^"\\]\)*"||g' -e 's|/\*.*\*/||g' -e '/\/\*/,/\*\//d' "$file" |
                tr -cs 'A-Za-z0-9_' '\n'
        done
    } | awk '
        $1 == "function" && NF == 3 { if (!($2 in at)) at[$2] = $3; next }
        $1 == "file" && NF == 2 { file = $2; next }
        ($1 in at) && at[$1] != file && !(($1, file) in seen) {
            seen[$1, file]; users[$1] = users[$1] " " file }
        END { for (name in at) print name, at[name] users[name] }'
}

found=$(calls | awk '
    function room(path) { sub("/[^/]*$", "", path); return path }
    {
        total++
        inside = NF > 2
        for (i = 3; i <= NF; i++) if (room($i) != room($2)) inside = 0
        if (!inside) next
        own++
        if (NF == 3) print "one " $2 ": only " $3 " calls " $1
    }
    END { print "share " int(own * 100 / total + 0.5) }' | LC_ALL=C sort)
sed -n 's/^one //p' <<<"$found" | blamed 2 "functions that one file of their room calls" 577
share=$(sed -n 's/^share //p' <<<"$found")
row 2 "functions that only their room calls, %" "$share" 39 "$(within "$share" 39)"
