#!/bin/bash
# Point 13: the rooms. src/ROOMS and api/ROOMS list them, lowest first, each with
# the rooms that it may use; what those may use it may use as well. A room is a
# folder; the public headers, kindex.h and kindex/*.h, may be used anywhere. What
# breaks the order and is known stands in tests/shape/upward.txt, which must
# shrink: a line there that no longer holds fails as well.
. tests/shape/lib.sh

# Lines "file room file room" of what uses what, by inclusion: a header of the
# same tree is named by its room.
uses_by_include() {
    grep -oE '^#include "[^"]+"' "${sources[@]}" | sed -E 's/^([^:]*):#include "(.*)"/\1 \2/' |
        awk '$2 !~ /^kindex(\/|\.h$)/ { tree = $1; sub(/\/.*/, "", tree)
             sub(/\.pb-c\.h$/, ".proto", $2); print $1, tree "/" $2 }'
}

# Lines "file file" of what uses what, by the linker.
uses_by_link() {
    local source object
    for source in "${units[@]}"; do
        object=${source%.c}.o
        [ -e "${BUILD:-build}/$object" ] || object=${OBJECTS:-/nowhere}/$object
        echo "${BUILD:-build}/$object $source"
    done | sed "s|^${BUILD:-build}//|/|" >"$work/objects"
    awk '{ print $1 }' "$work/objects" | xargs nm -A -g -P 2>/dev/null |
        sed -E 's/: / /' | awk '
        NR == FNR { source[$1] = $2; next }
        !($1 in source) { next }
        $3 ~ /^[TDBRCVWi]$/ { if (!($2 in home)) home[$2] = source[$1]; next }
        $3 == "U" { asks[++n] = source[$1] " " $2 }
        END { for (i = 1; i <= n; i++) {
                  split(asks[i], a, " ")
                  if (a[2] in home && home[a[2]] != a[1]) print a[1], home[a[2]] } }
        ' "$work/objects" - | sort -u
}

# Uses that the order of the rooms does not allow, as "file: uses file".
upward() {
    awk '
        function room(path) { sub(/\/[^\/]*$/, "", path); return path }
        FILENAME ~ /ROOMS$/ {
            if (/^#/ || NF == 0) next
            tree = FILENAME; sub(/ROOMS$/, "", tree)
            name = tree $1; sub(/:$/, "", name); may[name, name] = known[name] = 1
            for (i = 2; i <= NF; i++) {
                if (!((tree $i) in known)) print FILENAME ": " name " uses " $i ", which is not above it in the list"
                for (other in known) if ((tree $i, other) in may) may[name, other] = 1
            }
            next
        }
        {
            from = room($1); to = room($2)
            if ($1 == "api/main.c") next
            if (!(from in known)) print $1 ": is in no room"
            else if (!(to in known)) print $1 ": uses " $2 ", which is in no room"
            else if (!((from, to) in may)) print $1 ": uses " $2
        }' src/ROOMS api/ROOMS - | sort -u
}

# What is left of standard input without the known lines, and known lines that
# no longer hold.
less_known() {
    cat >"$work/found"
    grep -vxFf tests/shape/upward.txt "$work/found"
    grep -v '^#' tests/shape/upward.txt | grep -vxFf "$work/found" |
        sed 's/$/ (in upward.txt, but no longer so)/'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
uses_by_include >"$work/includes"
uses_by_link >"$work/links"
[ -s "$work/links" ] || echo "no object files: build first" | blamed 13 "objects" 0

awk 'NR == FNR { print; next } $1 ~ /^src/ || $2 ~ /^api/' "$work/includes" "$work/links" |
    upward | less_known | blamed 13 "uses against the order of the rooms" 0

awk '$1 ~ /^api/ { print $2, $1 }' "$work/includes" | sort -u | while read -r header file; do
    [ -e "$header" ] || echo "$file: includes ${header#api/}, which is neither public nor in api"
done | blamed 13 "includes of api past the public headers" 0

grep -oE '^#include "[^"]+"' "${public[@]}" | grep -vE '"kindex/' |
    sed 's/$/ is not public/' | blamed 13 "includes of public headers past themselves" 0

for tree in src api; do
    sed -E '/^#/d; s/:.*//' $tree/ROOMS | while read -r room; do
        files=$(find "$tree/$room" -maxdepth 1 -name '*.[ch]' 2>/dev/null | wc -l)
        [ "$files" -ge 4 ] && [ "$files" -le 32 ] || echo "$tree/$room: has $files files"
    done
done | blamed 13 "rooms of less than 4 or more than 32 files" 0

# make quick finds the stories of a room in tests/http/ROOMS.
for tree in src api; do
    sed -E "/^#/d; s|:.*||; s|^|$tree/|" $tree/ROOMS
done | while read -r room; do
    stories=$(sed -n "s|^$room: *||p" tests/http/ROOMS)
    [ -n "$stories" ] || echo "tests/http/ROOMS: has no line for $room"
    for story in $stories; do
        [ -e "tests/http/$story.sh" ] || echo "tests/http/ROOMS: there is no $story.sh for $room"
    done
done | blamed 13 "rooms whose stories make quick does not find" 0

# A circle of files: each uses the next, by inclusion or by the linker. Between
# rooms there are no circles while their order holds.
cat "$work/includes" "$work/links" |
    awk '{ a = $1; b = $2; sub(/[^\/]*$/, "", a); sub(/[^\/]*$/, "", b) }
         a == b && $1 != $2' | sort -u >"$work/graph"
tsort "$work/graph" 2>&1 >/dev/null | awk '
    /input contains a loop/ { if (circle != "") print circle; circle = ""; next }
    { sub(/^tsort: /, ""); circle = circle (circle == "" ? "" : " ") $0 }
    END { if (circle != "") print circle }' | sort >"$work/circles"
known_circles=$(grep -c . <"$work/circles")
cap=$(sed -n 's/^# circles: //p' tests/shape/upward.txt)
row 13 "circles of files" "$known_circles" "${cap:-0}" "$(within "$known_circles" "${cap:-0}")"
[ "$known_circles" -le "${cap:-0}" ] || sed 's/^/blame|/' "$work/circles"
