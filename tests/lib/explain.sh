# Functions for stories of POST /explain. Source it after http.sh.

explain() { # QUERY
    request POST /explain "$1"
    [ "$status" = 200 ] || expect 200
}

# The reasons of one index, or of the entries themselves: [code, ...].
reasons() { # INDEX
    value "(.indexes[] | select(.index == \"$1\") | .reasons // []) | map(.code)"
}

# Asks, follows the request it is given, and says by which index and what came:
# the last part of each key, or "big" for one that JSON has no number for.
follow() { # QUERY
    local index part parts=()
    explain "$1"
    index=$(value .index)
    request GET "$(value '.request // ""')"
    while IFS= read -r part; do
        [[ $part != '{'* ]] || part=big
        parts+=("$part")
    done < <(value '.entries[].key[-1]')
    echo "$index: ${parts[*]}"
}
