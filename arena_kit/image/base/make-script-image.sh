#!/bin/sh
# Makes the image with learning libraries for scripts, and for players that require them: PyTorch for processors,
# Stable-Baselines3, Gymnasium with Box2D and MuJoCo, pandas and SciPy, as one layer on the base image of players.
# Needs a Docker engine and takes some minutes; without the base image it is made first, by make-base-image.sh.
#   NAME           name of the image            (default rl-arena-script)
#   BASE           the base image               (default rl-arena-base)
#   SUITE          Debian release of the base image, where it is missing        (default bookworm)
#   TORCH          what pip is asked for        (default torch), or `debian` for Debian's own package python3-torch,
#                  where TORCH_INDEX cannot be reached (best with SUITE=trixie: bookworm's PyTorch is of 2022)
#   TORCH_INDEX    index of wheels without the gigabytes for graphics cards     (default PyTorch's own for processors);
#                  empty: where the other packages come from
#   BUILD_NETWORK  the engine's network with a way to the package index         (default bridge)
# pip is told what this shell's environment says of PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_TRUSTED_HOST, PIP_CERT,
# PIP_FIND_LINKS (a folder of this machine), HTTPS_PROXY and NO_PROXY; nothing of it stays in the image.
# With --force it makes the image again even if the image exists.
set -eu
NAME=${NAME:-rl-arena-script}
BASE=${BASE:-rl-arena-base}
TORCH=${TORCH:-torch}
TORCH_INDEX=${TORCH_INDEX-https://download.pytorch.org/whl/cpu}
LIBRARIES="stable-baselines3 gymnasium[box2d,mujoco] pandas scipy"

docker image inspect "$BASE" >/dev/null 2>&1 || NAME=$BASE "$(dirname "$0")/make-base-image.sh"
BASE_ID=$(docker image inspect --format '{{.Id}}' "$BASE")
MADE_OF="$BASE_ID $TORCH $LIBRARIES"
if [ "${1:-}" != --force ] &&
    [ "$(docker image inspect --format '{{index .Config.Labels "arena.libraries"}}' "$NAME" 2>/dev/null)" = "$MADE_OF" ]; then
    echo "The image $NAME exists already."
    exit 0
fi

wheels=
[ ! -d "${PIP_FIND_LINKS:-}" ] || wheels="--mount type=bind,source=$PIP_FIND_LINKS,target=$PIP_FIND_LINKS,readonly"
# shellcheck disable=SC2086
container=$(docker run --detach --network "${BUILD_NETWORK:-bridge}" $wheels "$BASE" sleep 7200)
trap 'docker rm --force "$container" >/dev/null' EXIT
certificates=
if [ -n "${PIP_CERT:-}" ]; then
    certificates=/tmp/certificates.crt
    docker cp "$PIP_CERT" "$container:$certificates" >/dev/null 2>&1
fi
# In the environment of a command, not of the container: that would become the image's.
inside() {
    docker exec --env PIP_INDEX_URL --env PIP_EXTRA_INDEX_URL --env PIP_TRUSTED_HOST --env PIP_FIND_LINKS \
        --env HTTPS_PROXY --env NO_PROXY --env "PIP_CERT=$certificates" --env DEBIAN_FRONTEND=noninteractive \
        --env PIP_ROOT_USER_ACTION=ignore --env PIP_DISABLE_PIP_VERSION_CHECK=1 --env PIP_NO_INPUT=1 "$container" "$@"
}
install() { inside python3 -m pip install --quiet --no-cache-dir --break-system-packages --only-binary :all: "$@"; }
if [ "$TORCH" = debian ]; then
    echo "Installing Debian's PyTorch ..."
    inside sh -c 'apt-get update -qq && apt-get install -qq --yes --no-install-recommends python3-torch >/dev/null &&
        rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin'
else
    echo "Installing $TORCH ..."
    # shellcheck disable=SC2086
    install ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$TORCH"
fi
# Pinned, or pip would fetch another PyTorch, with gigabytes for graphics cards, for the newest Stable-Baselines3.
pinned=$(inside python3 -c 'import importlib.metadata; print("torch==" + importlib.metadata.version("torch"))')
inside sh -c "echo '$pinned' >/tmp/constraints.txt"
echo "Installing $LIBRARIES for $pinned ..."
# shellcheck disable=SC2086
install --constraint /tmp/constraints.txt $LIBRARIES
inside rm -rf /tmp/certificates.crt /tmp/constraints.txt /root/.cache
echo "Storing the image $NAME ..."
docker commit --change 'CMD ["python3"]' --change "LABEL arena.libraries=\"$MADE_OF\"" "$container" "$NAME" >/dev/null
version=$(docker run --rm --network none "$NAME" python3 -c '
import sys, warnings
warnings.simplefilter("ignore")
import gymnasium, mujoco, numpy, pandas, scipy, stable_baselines3, torch
gymnasium.make("LunarLander-v3").reset(seed=1)
gymnasium.make("Hopper-v5").reset(seed=1)
modules = (torch, stable_baselines3, gymnasium, mujoco, pandas, scipy, numpy)
print(*(f"{module.__name__} {module.__version__}" for module in modules), sep=", ", file=sys.stderr)
print(".".join(map(str, sys.version_info[:2])))')
echo "In .env: SCRIPT_OPTIONS=base_images=$version=$NAME"
