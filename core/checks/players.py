"""System checks of where players run: the sandbox, its cluster, registry, base images and engine."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Advice

from arena_kit.image.labels import REPOSITORY
from arena_kit.upload.source_warnings import CODES
from core.checks.startup import ENGINE_TAG, TAG

MOST_IN_A_POD = 8
SANDBOXES = ("docker", "kubernetes", "process")
# A socket path (sun_path) holds 108 bytes; a random folder name and "/wire.sock" follow CHANNEL_DIR.
MAX_CHANNEL_PATH = 80
ENGINE_CHECK_SECONDS = 10
PINNED = re.compile(r"[\w.-]+(:[0-9]+)?/[\w./-]+@sha256:[0-9a-f]{64}")
NODE_LABEL = re.compile(r"[\w./-]+=[\w.-]*")


@register(TAG)
def check_sandbox(**_: Any) -> list[CheckMessage]:
    """arena.E001: SANDBOX is unknown. arena.E002: the sandbox does not protect a real site."""
    if settings.SANDBOX not in SANDBOXES:
        hint = f"Use one of {', '.join(SANDBOXES)}."
        return [Error(f"SANDBOX is {settings.SANDBOX!r}.", hint=hint, id="arena.E001")]
    if settings.SANDBOX == "process" and not settings.DEBUG:
        return [
            Error(
                "The process sandbox does not protect this host from players.",
                hint="Set SANDBOX=docker, or DEBUG=true on a machine where only your own agents play.",
                id="arena.E002",
            )
        ]
    return []


@register(TAG)
def check_cluster(**_: Any) -> list[CheckMessage]:
    """arena.E015: lots cannot be played on a cluster with these settings."""
    if settings.SANDBOX != "kubernetes":
        return []
    found: list[CheckMessage] = []
    if not settings.PLAYER_REGISTRY:
        hint = "Set PLAYER_REGISTRY: the cluster's nodes pull the images of players from it."
        found.append(Error("SANDBOX is kubernetes, but there is no registry.", hint=hint, id="arena.E015"))
    if not PINNED.fullmatch(settings.KUBERNETES_IMAGE):
        hint = "Push the arena's image and name it as HOST/PATH@sha256:DIGEST: every node then runs the same referee."
        found.append(Error("KUBERNETES_OPTIONS: image does not name one by its digest.", hint=hint, id="arena.E015"))
    if settings.ROLLOUTS != "false" and not PINNED.fullmatch(settings.BROWSER_IMAGE):
        hint = "Push the image of browsers to the registry, and name it as HOST/PATH@sha256:DIGEST in ROLLOUT_OPTIONS."
        found.append(Error("ROLLOUT_OPTIONS: browser_image is not named by its digest.", hint=hint, id="arena.E015"))
    if settings.KUBERNETES_OPTIONS["namespace"] == settings.KUBERNETES_OPTIONS["worlds"]:
        hint = "Who runs commands in the pods of worlds must not be able to in those of lots: use two namespaces."
        found.append(Error("KUBERNETES_OPTIONS: worlds and lots share a namespace.", hint=hint, id="arena.E015"))
    if settings.OPEN_ENVIRONMENTS != "false":
        hint = "Leave it out: the pods of a cluster do not have the rules that a submission adds."
        found.append(Error("OPEN_ENVIRONMENTS is set, and SANDBOX is kubernetes.", hint=hint, id="arena.E015"))
    if settings.KUBERNETES_OPTIONS["lots"] < 1:
        hint = "Say how many duels, validations and evaluations a driver may play at once."
        found.append(Error("KUBERNETES_OPTIONS: lots is below 1.", hint=hint, id="arena.E015"))
    if not 2 <= settings.KUBERNETES_OPTIONS["lot_size"] <= MOST_IN_A_POD:
        hint = f"Say how many submissions a pod may hold, from 2 to {MOST_IN_A_POD}: each takes its limit of memory."
        found.append(Error("KUBERNETES_OPTIONS: lot_size is out of range.", hint=hint, id="arena.E015"))
    if wrong := [word for word in settings.KUBERNETES_NODES if not NODE_LABEL.fullmatch(word)]:
        hint = "It is a list of NAME=VALUE with semicolons between them, the labels of nodes."
        found.append(Error(f"KUBERNETES_OPTIONS: nodes has {wrong[0]!r}.", hint=hint, id="arena.E015"))
    return found


@register(TAG)
def check_channel_dir(**_: Any) -> list[CheckMessage]:
    """arena.E004: the path of CHANNEL_DIR leaves no room for a socket."""
    if len(str(settings.CHANNEL_DIR).encode()) <= MAX_CHANNEL_PATH:
        return []
    return [
        Error(
            f"CHANNEL_DIR is longer than {MAX_CHANNEL_PATH} bytes.",
            hint="The path of a Unix socket is at most 107 bytes long; choose a shorter folder.",
            id="arena.E004",
        )
    ]


@register(TAG)
def check_registry(**_: Any) -> list[CheckMessage]:
    """arena.E025: PLAYER_REGISTRY, its login, or the space for images is wrong."""
    found: list[CheckMessage] = []
    if settings.PLAYER_REGISTRY and not REPOSITORY.fullmatch(settings.PLAYER_REGISTRY):
        hint = (
            "Write [USER:PASSWORD@]HOST[:PORT]/PATH, host and path in small letters, without https://, "
            "e.g. registry.example.org/arena/players."
        )
        found.append(Error(f"PLAYER_REGISTRY is {settings.PLAYER_REGISTRY!r}.", hint=hint, id="arena.E025"))
    if bool(settings.PLAYER_REGISTRY_USER) != bool(settings.PLAYER_REGISTRY_PASSWORD):
        hint = "Write PLAYER_REGISTRY=USER:PASSWORD@HOST/PATH, or leave out both."
        found.append(Error("The login at the registry is incomplete.", hint=hint, id="arena.E025"))
    if settings.IMAGE_CACHE_BYTES < 0:
        hint = "Set it to a number of bytes from 0, or leave it out."
        found.append(
            Error(f"PLAYER_CONTAINERS: cache_bytes is {settings.IMAGE_CACHE_BYTES}.", hint=hint, id="arena.E025")
        )
    return found


@register(TAG)
def check_image_registries(**_: Any) -> list[CheckMessage]:
    """arena.E027: players as container images cannot be taken with these settings."""
    if not settings.IMAGE_REGISTRIES:
        return []
    found: list[CheckMessage] = []
    if settings.SANDBOX != "docker":
        hint = "Leave it empty. In a pod the walls between players are built by the Python of their images."
        found.append(Error("IMAGE_REGISTRIES is set, and SANDBOX is not docker.", hint=hint, id="arena.E027"))
    hint = "Write HOST[:PORT] or HOST[:PORT]/PATH in small letters, without https://, and commas between several."
    wrong = [name for name in settings.IMAGE_REGISTRIES if not REPOSITORY.fullmatch(f"{name}/x")]
    found += [Error(f"IMAGE_REGISTRIES has {name!r}.", hint=hint, id="arena.E027") for name in wrong]
    own = settings.PLAYER_REGISTRY
    if own and any(f"{own}/".startswith(f"{name}/") for name in settings.IMAGE_REGISTRIES):
        hint = "Name other paths than that of PLAYER_REGISTRY, or one person could submit the image of another."
        found.append(Error("IMAGE_REGISTRIES holds the players of this arena.", hint=hint, id="arena.E027"))
    if settings.IMAGE_MAX_BYTES <= 0:
        hint = "Set it to a number of bytes, or leave it out."
        found.append(
            Error(f"PLAYER_CONTAINERS: image_bytes is {settings.IMAGE_MAX_BYTES}.", hint=hint, id="arena.E027")
        )
    return found


@register(TAG, deploy=True)
def check_base_images_are_pinned(**_: Any) -> list[CheckMessage]:
    """arena.W012, with `check --deploy`: build workers of several hosts may have different base images."""
    names = {*settings.PLAYER_BASE_IMAGES.values(), *settings.SCRIPT_BASE_IMAGES.values()}
    loose = sorted(name for name in names if "@sha256:" not in name)
    if not settings.PLAYER_REGISTRY or not loose:
        return []
    return [
        Advice(
            f"Build workers on several hosts may have different images under the name {loose[0]}.",
            hint="Push it to the registry and name it by its digest, see docs/operator/several-hosts.md. "
            "Ignore this if one host builds.",
            id="arena.W012",
        )
    ]


@register(TAG)
def check_upload_refusals(**_: Any) -> list[CheckMessage]:
    """arena.E028: UPLOAD_REFUSES names warnings that do not exist."""
    unknown = [code for code in settings.UPLOAD_REFUSES if code not in CODES]
    hint = f"Use some of {', '.join(sorted(CODES))}."
    return [Error(f"UPLOAD_REFUSES has {code!r}.", hint=hint, id="arena.E028") for code in unknown]


@register(ENGINE_TAG, deploy=True)
def check_engine(**_: Any) -> list[CheckMessage]:
    """arena.W003 and arena.W004, with `check --deploy`: limits that this machine's engine does not enforce."""
    if settings.SANDBOX != "docker":
        return []
    # Imported here because every command of the site imports this module.
    from docker.errors import DockerException
    from requests import RequestException

    # Late: Docker's client takes long to load.
    from arena_kit.image.engine import NoEngine, connect, missing_limits

    try:
        client = connect(ENGINE_CHECK_SECONDS)
        try:
            missing = missing_limits(client.info())
        finally:
            client.close()
    except (NoEngine, DockerException, RequestException):
        message = "No Docker engine answers here, so its limits cannot be checked."
        return [Advice(message, hint="Ignore this on a machine without builds and duels.", id="arena.W003")]
    hint = (
        "Players can use more than their share: see docs/operator/security-checklist.md, "
        "and run `manage.py sandbox_check`."
    )
    return [
        Advice(f"The Docker engine does not enforce this limit of a container: {name}.", hint=hint, id="arena.W004")
        for name in missing
    ]
