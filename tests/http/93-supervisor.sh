#!/bin/bash
# What a supervisor such as systemd is told: that the server is ready when it
# answers, not before, and that it stops.
. "$(dirname "$0")/../lib/http.sh"

# Prints each datagram as a line until STOPPING=1, or the end, has come.
listen_at() {
    rm -f "$1"
    perl -MSocket -e '
        socket(my $in, PF_UNIX, SOCK_DGRAM, 0) or die; $| = 1;
        bind($in, sockaddr_un($ARGV[0])) or die;
        while (defined recv($in, my $text, 4096, 0)) {
            print "$text\n";
            last if $text =~ /^(STOPPING=1|end)$/;
        }' "$1" >"$work/told" &
    listener=$!
    wait_until test -S "$1"
}
told() {
    grep -qx "$1" "$work/told"
}

test_case 'READY=1 is sent when requests are answered, STOPPING=1 at the end; HUP does not end a supervised server'
export NOTIFY_SOCKET=$work/socket
listen_at "$NOTIFY_SOCKET"
start_server
wait_until told READY=1
is 'what was told' "$(cat "$work/told")" READY=1
answers 200 GET /readyz
kill -HUP "$server"
answers 200 GET /readyz
stop_server
is 'the exit status' $? 0
wait $listener
is 'what was told' "$(cat "$work/told")" $'READY=1\nSTOPPING=1'

test_case 'HUP ends a server without a supervisor, as a closed terminal sends it'
unset NOTIFY_SOCKET
start_server
kill -HUP "$server"
wait "$server"
is 'the exit status' $? 0
server=''
export NOTIFY_SOCKET=$work/socket

test_case 'signals that reopen the logs of other servers do not end the server'
start_server
for signal in USR1 USR2; do
    kill -$signal "$server"
    answers 200 GET /readyz
done
stop_server
is 'the exit status' $? 0

test_case 'a server that cannot start does not say that it is ready'
listen_at "$NOTIFY_SOCKET"
echo 4000000 >"$work/data/format"
timeout "$longest" "$KINDEX" serve --data "$work/data" --listen 127.0.0.1:0 \
    >"$work/out" 2>"$work/said"
is 'the exit status' $? 1
perl -MSocket -e 'socket(my $out, PF_UNIX, SOCK_DGRAM, 0);
    send($out, "end", 0, sockaddr_un($ARGV[0])) or die' "$NOTIFY_SOCKET"
wait $listener
is 'what was told' "$(cat "$work/told")" end
finish
