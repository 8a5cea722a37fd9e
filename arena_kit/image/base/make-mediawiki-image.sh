#!/bin/sh
# Makes the image `base:mediawiki`, which the package `wiki` names: MediaWiki, PHP and what they need, from Debian
# packages, as one more layer on `base:python`, which make-app-images.sh makes first.
# Needs a Docker engine whose containers reach a Debian mirror. Takes about two minutes.
#   PREFIX    of the images' names        (default rl-arena-app: rl-arena-app-mediawiki)
#   NETWORK   of the engine, to the mirror  (default bridge)
# With --force it makes the image again even if it exists.
# Services run as the user app (1000), who may write to /data and /export; their files are in /app.
set -eu
PREFIX=${PREFIX:-rl-arena-app}
NETWORK=${NETWORK:-bridge}
# MediaWiki depends on a web server, which is nginx in the base already, but PHP's own one is what answers. php-cgi
# stands where PHP would bring Apache.
PACKAGES="mediawiki php-cgi php-cli php-intl php-mbstring php-pgsql php-xml"
NAME="$PREFIX-mediawiki"
HERE=$(cd "$(dirname "$0")" && pwd)

base=$(docker image inspect --format '{{.Id}}' "$PREFIX-python" 2>/dev/null) || {
    echo "The image $PREFIX-python is missing: make-app-images.sh makes it." >&2
    exit 1
}
RECIPE="$base $PACKAGES $(cksum <"$HERE/make-mediawiki-image.sh" | cut -d ' ' -f 1)"
if [ "${1:-}" != --force ] &&
    [ "$(docker image inspect --format '{{index .Config.Labels "arena.base"}}' "$NAME" 2>/dev/null)" = "$RECIPE" ]; then
    echo "The image $NAME exists already."
    exit 0
fi
echo "Installing $PACKAGES ..."
container=$(docker run --detach --network "$NETWORK" --user root "$PREFIX-python" sleep 3600)
trap 'docker rm --force "$container" >/dev/null 2>&1 || true' EXIT
# shellcheck disable=SC2086
docker exec --env DEBIAN_FRONTEND=noninteractive "$container" sh -euc '
    apt-get -qq update
    apt-get -qq install --yes --no-install-recommends "$@" >/dev/null
    apt-get clean
    rm -rf /var/lib/apt/lists/* /var/cache/debconf/*-old' install $PACKAGES
docker commit --change "CMD [\"php\",\"-v\"]" --change "LABEL arena.base=\"$RECIPE\"" "$container" "$NAME" >/dev/null
docker run --rm --network none "$NAME" sh -c 'php -v | head -n 1; ls /usr/share/mediawiki/maintenance/install.php'
