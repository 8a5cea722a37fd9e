#!/bin/sh
# Makes the base image of players from Debian packages, for machines that cannot reach an image registry.
# Needs root, a Docker engine and mmdebstrap (apt-get install mmdebstrap). Takes about four minutes.
#   NAME      name of the image           (default rl-arena-base)
#   SUITE     Debian release              (default bookworm, with Python 3.11; trixie has 3.13)
#   CACHE     folder to keep the tarball  (default /var/cache/rl-arena)
#   MIRROR    Debian mirror               (default: this machine's apt sources)
# A second one, for PLAYER_BASE_IMAGES: NAME=rl-arena-base-3.13 SUITE=trixie make-base-image.sh
# With --force it makes the image again even if the image exists.
set -eu
NAME=${NAME:-rl-arena-base}
SUITE=${SUITE:-bookworm}
CACHE=${CACHE:-/var/cache/rl-arena}
# Without OpenBLAS, NumPy's matrix products take ten times as long.
PACKAGES=python3,python3-pip,python3-numpy,libopenblas0-pthread,ca-certificates

label() { docker image inspect --format "{{index .Config.Labels \"$1\"}}" "$NAME" 2>/dev/null || true; }
MADE_OF=$(label arena.suite)
if [ "${1:-}" != --force ] && [ "$(label arena.base)" = "$PACKAGES" ] && [ "${MADE_OF:-bookworm}" = "$SUITE" ]; then
    echo "The base image $NAME exists already."
    exit 0
fi
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2; exit 1; }
mkdir -p "$CACHE"
TARBALL="$CACHE/base-$SUITE-$(printf %s "$PACKAGES" | cksum | cut -d ' ' -f 1).tar"
if [ "${1:-}" = --force ] || [ ! -s "$TARBALL" ]; then
    echo "Making a root file system of $SUITE with $PACKAGES ..."
    # shellcheck disable=SC2086
    mmdebstrap --quiet --variant=minbase --include="$PACKAGES" "$SUITE" "$CACHE/part.tar" ${MIRROR:-}
    mv "$CACHE/part.tar" "$TARBALL"
fi
echo "Importing it as $NAME ..."
docker import --change 'CMD ["python3"]' --change 'ENV LANG=C.UTF-8' --change "LABEL arena.base=$PACKAGES arena.suite=$SUITE" "$TARBALL" "$NAME" >/dev/null
docker run --rm --network none "$NAME" python3 -c 'import numpy, sys; print("Python", sys.version.split()[0], "NumPy", numpy.__version__)'
