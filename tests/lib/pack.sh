# Takes a backup apart and puts one together with tar and zstd alone.
#
#   unpack FILE DIRECTORY      the members, with the list of their checksums
#   repack DIRECTORY FILE      the members in the order of that list
#   sum_again DIRECTORY        makes the list again from the files there

unpack() {
    rm -rf "$2"
    mkdir "$2"
    tar --zstd -xf "$1" -C "$2"
}

repack() {
    (cd "$1" && tar --zstd -cf - --format=ustar --owner=0 --group=0 \
        $(sed 's/^[0-9a-f]*  //' SHA256SUMS) SHA256SUMS) >"$2"
}

sum_again() {
    (cd "$1" && sha256sum $(sed 's/^[0-9a-f]*  //' SHA256SUMS) >sums &&
        mv sums SHA256SUMS)
}
