# Damage to a file, by bash's RANDOM.
#
#   flip FILE PLACE            flips a random bit of the byte at PLACE
#   some_place FILE [BYTES]    prints a random place in the first BYTES bytes (default: all),
#                              but not in the unused rest of a table's first page

flip() {
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %02x $((byte ^ (1 << (RANDOM % 8)))))" |
        dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

some_place() {
    local size place
    size=${2:-$(stat -c %s "$1")}
    place=$(((RANDOM * 32768 + RANDOM) % size))
    [[ $1 != *.db || $place -lt 512 || $place -ge 4096 ]] || place=$((place % 512))
    echo $place
}
