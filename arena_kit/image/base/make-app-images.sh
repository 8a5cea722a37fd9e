#!/bin/sh
# Makes the base images of application services (`image: base:python` and others in compose.yml of a package) from
# Debian packages, for machines that cannot reach an image registry as well: one root file system that all of them share.
# Needs root, a Docker engine and mmdebstrap (apt-get install mmdebstrap). Takes about four minutes.
#   PREFIX    of the images' names        (default rl-arena-app: rl-arena-app-python and so on)
#   SUITE     Debian release              (default bookworm)
#   CACHE     folder to keep the tarball  (default /var/cache/rl-arena)
#   MIRROR    Debian mirror               (default: this machine's apt sources)
# With --force it makes the images again even if they exist.
# Services run as the user app (1000), or postgres, who may write to /data and /export; a service's files are in /app.
set -eu
PREFIX=${PREFIX:-rl-arena-app}
SUITE=${SUITE:-bookworm}
CACHE=${CACHE:-/var/cache/rl-arena}
PACKAGES=python3,python3-psycopg2,python3-redis,postgresql,redis-server,nginx-light,nodejs
HERE=$(cd "$(dirname "$0")" && pwd)

RECIPE="$SUITE $PACKAGES $(cat "$HERE/make-app-images.sh" "$HERE"/app/* | cksum | cut -d ' ' -f 1)"
if [ "${1:-}" != --force ] &&
    [ "$(docker image inspect --format '{{index .Config.Labels "arena.base"}}' "$PREFIX-node" 2>/dev/null)" = "$RECIPE" ]; then
    echo "The images $PREFIX-* exist already."
    exit 0
fi
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2; exit 1; }
mkdir -p "$CACHE"
TARBALL="$CACHE/app-$SUITE-$(printf %s "$PACKAGES" | cksum | cut -d ' ' -f 1).tar"
if [ "${1:-}" = --force ] || [ ! -s "$TARBALL" ]; then
    echo "Making a root file system of $SUITE with $PACKAGES ..."
    # shellcheck disable=SC2016,SC2086
    mmdebstrap --quiet --variant=minbase --include="$PACKAGES" \
        --essential-hook='mkdir -p "$1/etc/postgresql-common"' \
        --essential-hook='echo create_main_cluster=false >"$1/etc/postgresql-common/createcluster.conf"' \
        "$SUITE" "$CACHE/app-part.tar" ${MIRROR:-}
    mv "$CACHE/app-part.tar" "$TARBALL"
fi

echo "Importing it ..."
root=$(docker import --change 'CMD ["python3"]' --change 'ENV LANG=C.UTF-8 PYTHONUNBUFFERED=1' "$TARBALL")
container=
trap 'docker rm --force "$container" >/dev/null 2>&1; docker image rm "$root" >/dev/null 2>&1 || true' EXIT
container=$(docker run --detach --network none "$root" sleep 3600)
docker cp "$HERE/app/arena_postgres.sh" "$container:/usr/local/bin/arena-postgres" >/dev/null
docker cp "$HERE/app/arena_export.py" "$container:/usr/local/bin/arena-export" >/dev/null
docker exec "$container" sh -euc '
    chmod 755 /usr/local/bin/arena-postgres /usr/local/bin/arena-export
    ln -sf python3 /usr/bin/python
    useradd --uid 1000 --user-group --home-dir /app --shell /bin/sh app
    install -d -m 755 /app
    install -d -m 1777 /data /export
    runuser -u postgres -- "$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)/initdb" --pgdata /data/postgres \
        --auth trust --encoding UTF8 --locale C.UTF-8 --no-sync >/dev/null'
docker commit --change 'WORKDIR /app' --change "USER app" --change 'LABEL arena.base=""' "$container" "$PREFIX-python" >/dev/null
docker rm --force "$container" >/dev/null

variant() {
    # The same files with another command: these images need no further space.
    container=$(docker create --network none "$PREFIX-python")
    docker commit --change "CMD $2" --change "USER $3" --change "LABEL arena.base=\"$RECIPE\"" "$container" "$PREFIX-$1" >/dev/null
    docker rm --force "$container" >/dev/null
}
variant postgres '["arena-postgres"]' postgres
variant redis '["redis-server","--dir","/data","--save","3600 1","--port","6379"]' app
variant nginx '["nginx","-c","/app/nginx.conf","-g","daemon off;"]' app
variant node '["node","/app/server.js"]' app
docker run --rm --network none "$PREFIX-postgres" sh -c \
    'python3 --version && node --version && redis-server --version && ls -d /usr/lib/postgresql/* && nginx -v' 2>&1 | tr "\n" " "
echo
