# Damage to a file, by bash's RANDOM.
#
#   flip FILE PLACE            overwrites the byte there by another one
#   some_place FILE [BYTES]    a place in the first so many bytes (all of it); of
#                              the first page of a table only 512 bytes are used

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
