#!/bin/sh
# Writes ALLOWED_HOSTS into the configuration, then runs its arguments, or nginx.
set -eu
hosts=$(printf %s "${ALLOWED_HOSTS:-}" | tr -cs 'A-Za-z0-9._:*][-' ' ' | tr 'A-Z' 'a-z')
sed "s/ALLOWED_HOSTS \"/$hosts \"/" /etc/arena/default.conf > /etc/nginx/conf.d/default.conf
[ $# -gt 0 ] || set -- nginx -g 'daemon off;'
exec "$@"
