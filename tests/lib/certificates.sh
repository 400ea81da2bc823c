# Certificates for stories: keys and certificates in the directory $sheaf.

sheaf=$work/tls
mkdir "$sheaf"

# A certificate NAME.pem with its key NAME.key: issue NAME CA PURPOSE
issue() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$sheaf/$1.key" -out "$sheaf/$1.csr" -subj "/CN=$1" &&
        printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=%s\n' \
            "$3" >"$sheaf/$1.ext" &&
        openssl x509 -req -in "$sheaf/$1.csr" -days 2 -CA "$sheaf/$2.pem" \
            -CAkey "$sheaf/$2.key" -extfile "$sheaf/$1.ext" -out "$sheaf/$1.pem"
}

authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -keyout "$sheaf/$1.key" -out "$sheaf/$1.pem" -days 2 -subj "/CN=$1"
}
