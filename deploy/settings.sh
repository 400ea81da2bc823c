#!/bin/sh
# Prints a file of settings for the service, made of `kindex serve --help`:
# each variable as a comment, with what it means and its default.
#   deploy/settings.sh build/kindex
set -eu
cat <<'END'
# Settings of the service kindex, read by its systemd unit. Each is an option of
# kindex serve, in capitals; see kindex(1). What is commented out is the default.
# After a change: systemctl restart kindex
END
env -i "$1" serve --print-config | awk -v program="$1" '
    # "name  value  source" of each setting; the help of each is a line, or
    # several, of which the first begins with its flag.
    BEGIN {
        command = "env -i " program " serve --help"
        while ((command | getline line) > 0) {
            if (match(line, /^  --[a-z0-9-]+/)) {
                name = substr(line, 5, RLENGTH - 4)
                sub(/^  --[a-z0-9-]+( [A-Z]+(:[A-Z]+)?)? +/, "", line)
                help[name] = line
            }
        }
    }
    $1 == "data" { next }
    {
        variable = "KINDEX_" toupper($1)
        gsub("-", "_", variable)
        printf "\n# %s\n#%s=%s\n", help[$1], variable, $2 == "-" ? "" : $2
    }'
