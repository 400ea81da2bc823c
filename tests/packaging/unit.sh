# The systemd unit and its settings.
unit=$work/usr/lib/systemd/system/kindex.service

verified() {
    local said
    said=$(systemd-analyze verify --man=no "$1" 2>&1) && [ -z "$said" ] ||
        { echo "$said"; return 1; }
}
check 'systemd has nothing to say about the unit' verified "$unit"
mkdir "$work/misspelt"
sed 's/^ProtectSystem=/ProtectSytem=/' "$unit" >"$work/misspelt/kindex.service"
refuses 'planted: systemd finds a line of the unit with a typing error' verified "$work/misspelt/kindex.service"

# How exposed the service is, in tenths: 0 is safest, 100 not hardened at all.
hardened() {
    systemd-analyze security --offline=true --threshold=20 --no-pager "$1"
}
check 'the exposure of the unit is at most 2.0' hardened "$unit"
mkdir "$work/soft"
grep -v '^SystemCallFilter\|^CapabilityBoundingSet\|^PrivateUsers' "$unit" \
    >"$work/soft/kindex.service"
refuses 'planted: a unit without some of its lines is more exposed' hardened "$work/soft/kindex.service"
systemd-analyze security --offline=true --no-pager "$unit" | tail -1

for line in Type=notify DynamicUser=yes User=kindex StateDirectory=kindex \
    ProtectSystem=strict NoNewPrivileges=yes PrivateTmp=yes \
    SystemCallFilter=@system-service "ExecStart=$work/usr/bin/kindex serve" \
    "EnvironmentFile=-$work/usr/etc/default/kindex"; do
    check "the unit says $line" grep -qxF "$line" "$unit"
done

# Every setting in the file is one that the program takes, and they are all.
settings() {
    local file=$1 variables
    variables=$(sed -n 's/^#\(KINDEX_[A-Z_]*=..*\)$/\1/p' "$file")
    [ "$(wc -l <<<"$variables")" -ge 10 ] || return 1
    env -i $variables "$BUILD/kindex" serve --print-config >"$work/config" || return 1
    [ "$(grep -c ' environment$' "$work/config")" = "$(wc -l <<<"$variables")" ] ||
        { echo "not all variables are settings"; return 1; }
}
check 'each variable in /etc/default/kindex is a setting' \
    settings "$work/usr/etc/default/kindex"
sed 's/^#KINDEX_LOOPS=/#KINDEX_LOPS=/' "$work/usr/etc/default/kindex" >"$work/settings"
refuses 'planted: an unknown variable in /etc/default/kindex is found' settings "$work/settings"
all_settings() {
    local name
    env -i "$BUILD/kindex" serve --print-config | while read -r name _; do
        [ "$name" = data ] || grep -qi "^#KINDEX_${name//-/_}=" "$1" ||
            { echo "$name is missing"; exit 1; }
    done
}
check '/etc/default/kindex has all settings' all_settings "$work/usr/etc/default/kindex"
