# A server of S3 (tests/s3/serve.js) with faults on demand, for a story. Sourced after
# http.sh. It runs until the story ends; its bucket "backups" is in $work/s3.

tests=$(cd "$(dirname "$0")/.." && pwd)
"$tests/lib/npm.sh" "$tests/s3"
s3=''
s3_ends() { [ -z "$s3" ] || kill "$s3"; }
trap 's3_ends; leave' EXIT
faults=$work/faults
requests=$work/requests

touch "$requests" "$faults"
mkdir "$work/s3"
node "$tests/s3/serve.js" "$work/s3" "$faults" "$requests" >"$work/s3-port" 2>"$work/s3-log" &
s3=$!
s3_listens() { [ -s "$work/s3-port" ]; }
wait_until s3_listens
AWS_ENDPOINT_URL=http://127.0.0.1:$(cat "$work/s3-port")
export AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER AWS_ENDPOINT_URL

# fault KIND EVERY PATTERN...: from now on; without arguments the faults end.
fault() {
    printf '%s %s %s\n' "$@" >"$faults.new"
    [ $# -gt 0 ] || : >"$faults.new"
    mv "$faults.new" "$faults"
}
