# The shared libraries that a program needs, and the Debian packages they are of.
# Sourced.

# libraries PROGRAM: lines with their paths, that of the loader among them.
libraries() {
    ldd "$1" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | LC_ALL=C sort -u
}

# packages_of PROGRAM: lines "package version source", without the architecture.
packages_of() {
    local file
    libraries "$1" | while read -r file; do
        # dpkg knows a file by one of its two paths where /lib is /usr/lib.
        dpkg-query -S "$file" "/usr$file" "$(realpath "$file")" 2>/dev/null | head -n 1
    done | cut -d : -f 1 | LC_ALL=C sort -u | while read -r package; do
        dpkg-query -W -f '${Package} ${Version} ${source:Package}\n' \
            "$package:$(dpkg --print-architecture)"
    done
}
