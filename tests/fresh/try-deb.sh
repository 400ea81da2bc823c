#!/bin/bash
# Inside a fresh system with the package installed: its service is started as
# the unit says, by hand, as there is no systemd; it answers, keeps what was
# stored over a reinstallation, stops, and leaves nothing when it is purged.
set -u
unit=/lib/systemd/system/kindex.service
settings=/etc/default/kindex
state=/var/lib/kindex
tried=0
failed=0

# ok SENTENCE COMMAND...
ok() {
    local sentence=$1
    shift
    tried=$((tried + 1))
    "$@" && return
    failed=$((failed + 1))
    echo "deb: FAILED: $sentence"
}
until_ok() {
    for _ in $(seq 600); do
        "$@" 2>/dev/null && return
        sleep 0.1
    done
    return 1
}
same() {
    [ "$1" = "$2" ] || { echo "deb: $1 is not $2"; return 1; }
}
not() {
    ! "$@" 2>/run/said
}
gone() {
    [ ! -e "$1" ]
}

# Prints what a supervisor is told, until the service stops.
supervise() {
    rm -f /run/told.socket
    perl -MSocket -e 'socket(my $in, PF_UNIX, SOCK_DGRAM, 0) or die; $| = 1;
        bind($in, sockaddr_un("/run/told.socket")) or die;
        chmod 0777, "/run/told.socket";
        while (defined recv($in, my $text, 4096, 0)) {
            print "$text\n"; last if $text eq "STOPPING=1" }' >/run/told &
    supervisor=$!
    until_ok test -S /run/told.socket
}

# The environment that systemd makes of the unit, and its command.
serve() {
    supervise
    install -d -m 700 -o kindex -g kindex $state
    (
        export NOTIFY_SOCKET=/run/told.socket
        export "$(sed -n 's/^Environment=//p' $unit)"
        set -a
        . "$(sed -n 's/^EnvironmentFile=-//p' $unit)"
        umask "$(sed -n 's/^UMask=//p' $unit)"
        exec setpriv --reuid "$(sed -n 's/^User=//p' $unit)" --regid kindex \
            --clear-groups --no-new-privs --bounding-set=-all \
            $(sed -n 's/^ExecStart=//p' $unit)
    ) >/run/out 2>/run/log &
    server=$!
    until_ok grep -qx READY=1 /run/told
}
stop() {
    kill -TERM $server
    wait $server
    same "$?" 0 && wait $supervisor && same "$(cat /run/told)" $'READY=1\nSTOPPING=1'
}

ok 'there is a user for the service' id kindex
ok 'it has no shell' grep -q '^kindex:.*nologin$' /etc/passwd
ok 'the unit is enabled' test -L /etc/systemd/system/multi-user.target.wants/kindex.service
ok 'the manual page is there' test -e /usr/share/man/man1/kindex.1.gz -o -d /usr/share/man

ok 'the service becomes ready' serve
ok 'it runs as its user' same "$(stat -c %U /proc/$server)" kindex
ok 'it stores' kindex set users/ada '{"email":"ada@x.org"}' -o json
ok 'it indexes' kindex index add by_email users email --unique --wait
ok 'it answers' same "$(kindex index get by_email ada@x.org)" '{"email":"ada@x.org"}'
ok 'it is well' kindex doctor
ok 'its directory is its own' same "$(stat -c %U:%a $state)" kindex:700
ok 'it stops' stop

printf '%s\n' KINDEX_LISTEN=0.0.0.0:4514 \
    KINDEX_TOKEN_FILE=$state/token >>$settings
ok 'the package is installed again' dpkg -i /root/kindex.deb >/run/dpkg
ok 'settings that were changed stay' grep -q '4514$' $settings
ok 'the service starts with them' serve
export KINDEX_URL=http://127.0.0.1:4514
ok 'requests without a token are refused' not kindex get users/ada
ok 'the entry is there' same "$(KINDEX_TOKEN=$(cat $state/token) kindex get users/ada)" '{"email":"ada@x.org"}'
ok 'it stops' stop

ok 'the package is removed' dpkg --remove kindex >/run/dpkg
ok 'the program is gone' gone /usr/bin/kindex
ok 'the entries stay' test -e $state/entries.db
ok 'the package is purged' dpkg --purge kindex >/run/dpkg
left() {
    find / -xdev \( -path /proc -o -path /sys -o -path /root -o -path /run \) -prune \
        -o -name '*kindex*' -print | grep -v '^/var/lib/systemd/deb-systemd-helper'
}
ok 'nothing of it is left' same "$(left)" ''
echo "deb: $tried checks, $failed failed"
[ $failed -eq 0 ] && [ $tried -ge 20 ]
