# Certificates for stories: keys and certificates in the directory $sheaf.

sheaf=$work/tls
mkdir "$sheaf"

# A certificate NAME.pem with its key NAME.key: issue NAME CA PURPOSE [ALTERNATIVE-NAMES]
issue() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$sheaf/$1.key" -out "$sheaf/$1.csr" -subj "/CN=$1" &&
        printf 'subjectAltName=%s\nextendedKeyUsage=%s\n' \
            "${4:-DNS:localhost,IP:127.0.0.1}" "$3" >"$sheaf/$1.ext" &&
        openssl x509 -req -in "$sheaf/$1.csr" -days 2 -CA "$sheaf/$2.pem" \
            -CAkey "$sheaf/$2.key" -extfile "$sheaf/$1.ext" -out "$sheaf/$1.pem"
}

authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$sheaf/$1.key" -out "$sheaf/$1.pem" -days 2 -subj "/CN=$1"
}

# A list CA.crl of the authority's certificates that are revoked: revoke CA NAME...
revoke() {
    local ca=$1 name
    shift
    [ -e "$sheaf/$ca.index" ] || touch "$sheaf/$ca.index"
    printf '[ca]\ndefault_ca=own\n[own]\ndatabase=%s\ndefault_md=sha256\ndefault_crl_days=2\n' \
        "$sheaf/$ca.index" >"$sheaf/$ca.cnf"
    set -- "${@/%/.pem}"
    for name in "$@"; do
        openssl ca -config "$sheaf/$ca.cnf" -cert "$sheaf/$ca.pem" -keyfile "$sheaf/$ca.key" \
            -revoke "$sheaf/$name" || return
    done
    openssl ca -config "$sheaf/$ca.cnf" -cert "$sheaf/$ca.pem" -keyfile "$sheaf/$ca.key" \
        -gencrl -out "$sheaf/$ca.crl"
}
