# The count with which every test ends, "N passed, N failed", and why one has failed.

# read_count STATUS OUTPUT: sets ok and bad from the last count in the file. Without a
# count, or if the exit status contradicts it, one test has failed.
read_count() {
    local line
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$2" | tail -1)
    read -r ok _ bad _ <<<"${line:-0 passed, 1 failed}"
    [ "$1" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
}

# add_count STATUS OUTPUT: reads the count and adds it to passed and failed.
add_count() {
    read_count "$@"
    passed=$((passed + ok))
    failed=$((failed + bad))
}

# reasons OUTPUT: prints each line of the file that names a failure, with the two lines
# after it, and the end of the file.
reasons() {
    local names='^ *(found: |FAILED|attempt [0-9]|(first: )?✖|[A-Za-z]*Error( \[|:|$)|unsteady: )'
    grep -aE -A 2 "$names"'|\[  (FAILED|ERROR ) |Sanitizer: |runtime error: |exit code [1-9]' "$1" |
        head -n 60
    echo "-- the end of it:"
    tail -n 20 "$1"
}
