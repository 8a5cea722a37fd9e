#!/bin/sh
# Writes ALLOWED_HOSTS into the configuration, makes room for 4,000 streams, then runs its arguments, or nginx.
set -eu
hosts=$(printf %s "${ALLOWED_HOSTS:-}" | tr -cs 'A-Za-z0-9._:*][-' ' ' | tr 'A-Z' 'a-z')
sed "s/ALLOWED_HOSTS \"/$hosts \"/" /etc/arena/default.conf > /etc/nginx/conf.d/default.conf
# A stream takes two connections: one to the reader and one to the site. A container that starts again has its file still.
sed -i -e '1i worker_rlimit_nofile 20000;' -e '/^worker_rlimit_nofile/d' -e 's/worker_connections .*/worker_connections 9000;/' \
    /etc/nginx/nginx.conf
[ $# -gt 0 ] || set -- nginx -g 'daemon off;'
exec "$@"
