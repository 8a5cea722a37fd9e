#!/bin/sh
# Starts nginx with the certificate that certbot has, or with one of our own until it has one, and takes each new one.
#   LIVE   certbot's folder of the certificate     PAIR   what nginx reads     EVERY   seconds between two looks
set -eu
live=${LIVE:-/etc/letsencrypt/live/arena} pair=${PAIR:-/etc/arena-tls/pair} every=${EVERY:-30}
mkdir -p "$pair"
chmod 700 "$pair"

take() {  # copy the pair if it is another and whole; the state says whether it is
    [ -s "$live/fullchain.pem" ] && [ -s "$live/privkey.pem" ] || return 1
    cmp -s "$live/fullchain.pem" "$pair/fullchain.pem" && return 1
    # Half of a renewal: the key is not yet that of the certificate.
    [ "$(openssl x509 -in "$live/fullchain.pem" -noout -pubkey)" = "$(openssl pkey -in "$live/privkey.pem" -pubout)" ] || return 1
    cp "$live/privkey.pem" "$pair/privkey.pem"
    cp "$live/fullchain.pem" "$pair/fullchain.pem"
}

if ! take && [ ! -s "$pair/fullchain.pem" ]; then
    echo "There is no certificate yet: nginx begins with one of its own, which browsers refuse."
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost \
        -keyout "$pair/privkey.pem" -out "$pair/fullchain.pem" 2>/dev/null
fi
(
    while sleep "$every"; do
        if take; then
            echo "There is a new certificate: nginx takes it."
            nginx "$@" -s reload
        fi
    done
) &
exec nginx "$@" -g 'daemon off;'
