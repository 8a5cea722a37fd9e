#!/bin/sh
# Gets a certificate for TLS_DOMAINS and renews it, for as long as it runs. nginx goes on with what it has meanwhile.
#   TLS_DOMAINS    names, separated by commas     ACME_SERVER   the authority (Let's Encrypt)
#   FOLDER, ROOT   of certbot's files, and where nginx shows its answers
set -u
folder=${FOLDER:-/etc/letsencrypt} root=${ROOT:-/var/www/acme} pause=60
: "${TLS_DOMAINS:?set TLS_DOMAINS in .env to the names of this site}"
while true; do
    if certbot certonly --non-interactive --agree-tos --register-unsafely-without-email \
        --server "${ACME_SERVER:-https://acme-v02.api.letsencrypt.org/directory}" \
        --webroot --webroot-path "$root" --cert-name arena --domains "$TLS_DOMAINS" --keep-until-expiring \
        --config-dir "$folder" --work-dir "$folder/work" --logs-dir "$folder/logs"; then
        pause=43200  # half a day
    else
        # Authorities count failures: 5 an hour for a name.
        echo "There is no new certificate; the next try is in $pause s. Do the names $TLS_DOMAINS lead here, and is port 80 open?"
    fi
    sleep "$pause"
    [ "$pause" -ge 3600 ] || pause=$((pause * 4))
done
