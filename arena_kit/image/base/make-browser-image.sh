#!/bin/sh
# Makes the image of the browser in which agents work: Debian's Chromium and fonts, and Playwright, whose wheel pip
# fetches and checks by its hash. What runs in it is copied in when a world starts, so the image changes seldom.
# Needs root, a Docker engine, mmdebstrap (apt-get install mmdebstrap) and a Python with pip. Takes about four minutes.
#   NAME      of the image                (default rl-arena-browser)
#   SUITE     Debian release              (default bookworm, with Python 3.11)
#   CACHE     folder to keep the tarball  (default /var/cache/rl-arena)
#   MIRROR    Debian mirror               (default: this machine's apt sources)
#   PYTHON    has pip                     (default python3)
# With --force it makes the image again even if it exists, which is how a newer Chromium comes in.
set -eu
NAME=${NAME:-rl-arena-browser}
SUITE=${SUITE:-bookworm}
CACHE=${CACHE:-/var/cache/rl-arena}
PACKAGES=python3,chromium,libatomic1,fonts-liberation,fonts-dejavu-core
HERE=$(cd "$(dirname "$0")" && pwd)

RECIPE="$SUITE $PACKAGES $(cat "$HERE/make-browser-image.sh" "$HERE"/browser/* | cksum | cut -d ' ' -f 1)"
if [ "${1:-}" != --force ] &&
    [ "$(docker image inspect --format '{{index .Config.Labels "arena.base"}}' "$NAME" 2>/dev/null)" = "$RECIPE" ]; then
    echo "The image $NAME exists already."
    exit 0
fi
command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2; exit 1; }
mkdir -p "$CACHE"
TARBALL="$CACHE/browser-$SUITE-$(printf %s "$PACKAGES" | cksum | cut -d ' ' -f 1).tar"
part=$(mktemp -d)
container=
root=
trap 'rm -rf "$part"; docker rm --force "$container" >/dev/null 2>&1; docker image rm "$root" >/dev/null 2>&1 || true' EXIT
if [ "${1:-}" = --force ] || [ ! -s "$TARBALL" ]; then
    echo "Making a root file system of $SUITE with $PACKAGES ..."
    # shellcheck disable=SC2086
    mmdebstrap --quiet --variant=minbase --include="$PACKAGES" "$SUITE" "$CACHE/browser-part.tar" ${MIRROR:-}
    mv "$CACHE/browser-part.tar" "$TARBALL"
fi
echo "Fetching Playwright ..."
"${PYTHON:-python3}" -m pip download --quiet --no-deps --require-hashes --only-binary :all: --python-version 3.11 \
    --dest "$part/wheels" --requirement "$HERE/browser/requirements.txt"
echo "Importing it as $NAME ..."
root=$(docker import --change 'CMD ["python3"]' --change 'ENV LANG=C.UTF-8' "$TARBALL")
container=$(docker run --detach --network none "$root" sleep 3600)
docker cp "$part/wheels" "$container:/wheels" >/dev/null
# A wheel is a zip with the files as they are installed. Playwright's own Node.js comes in it.
docker exec "$container" sh -euc '
    packages=/usr/lib/python3/dist-packages
    for wheel in /wheels/*.whl; do python3 -m zipfile -e "$wheel" "$packages"; done
    chmod 755 "$packages/playwright/driver/node"
    rm -rf /wheels
    python3 -m compileall -q "$packages/playwright" "$packages/greenlet" || true
    mkdir -p /etc/chromium/policies/managed'
docker commit --change "LABEL arena.base=\"$RECIPE\"" "$container" "$NAME" >/dev/null
docker run --rm --network none "$NAME" python3 -c '
import subprocess
from playwright._repo_version import version
print("Playwright", version, "with", subprocess.check_output(["chromium", "--version"], text=True).strip())'
