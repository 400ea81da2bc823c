# Entries and rules of a story. Sourced after http.sh.

put() { # KEY VALUE
    request PUT "/kv/$1" "$2"
    [ "$status" = 200 ] || expect 201
}
rule_is() { # NAME STATE
    request GET "/rules/$1"
    [ "$(value .state)" = "$2" ]
}
