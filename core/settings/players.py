"""The settings of players: sandboxes, images, scripts and environments."""

import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from core.settings.base import DATA_DIR, env
from core.settings.variables import decimal, images, whole_number, words, yes_or_no

SANDBOX = env.text("SANDBOX", "docker")
# Base images by version of Python; the first is the default. The site compiles uploads with its own Python.
PLAYER_BASE_IMAGES = env.images("PLAYER_BASE_IMAGES", "rl-arena-base")
PLAYER_BASE_IMAGE = next(iter(PLAYER_BASE_IMAGES.values()))
PLAYER_IMAGE_PREFIX = env.text("PLAYER_IMAGE_PREFIX", "rl-arena-player")
# The address may begin with the login of an account.
_login, _, PLAYER_REGISTRY = env.secret("PLAYER_REGISTRY").rpartition("@")
PLAYER_REGISTRY_USER, PLAYER_REGISTRY_PASSWORD = (unquote(part) for part in _login.partition(":")[::2])
# Where players may come from as container images; empty: from nowhere.
IMAGE_REGISTRIES = env.words("IMAGE_REGISTRIES")
# Codes of source_warnings.CODES that are refusals here.
UPLOAD_REFUSES = env.words("UPLOAD_REFUSES")
# With SANDBOX=docker. duel_runner.workplace reads them.
PLAYER_CONTAINERS: dict[str, Any] = env.pairs(
    "PLAYER_CONTAINERS",
    "runtime=runc,cgroup_parent=,warm=32,cache_bytes=53687091200,image_bytes=4294967296",
    str,
    apart=dict.fromkeys(("warm", "cache_bytes", "image_bytes"), whole_number),
)
IMAGE_CACHE_BYTES: int = PLAYER_CONTAINERS.pop("cache_bytes")
# Limits of a submitted image.
IMAGE_MAX_BYTES: int = PLAYER_CONTAINERS.pop("image_bytes")
# With SANDBOX=kubernetes. core.jobs.tenants reads them.
KUBERNETES_OPTIONS: dict[str, Any] = env.pairs(
    "KUBERNETES_OPTIONS",
    "image=,namespace=arena-players,worlds=arena-worlds,lots=10,lot_size=2,pull_secret=,runtime_class=,priority_class=,queue=,"
    "host_users=yes,nodes=",
    str,
    apart={"lots": whole_number, "lot_size": whole_number, "host_users": yes_or_no, "nodes": words},
)
KUBERNETES_IMAGE: str = KUBERNETES_OPTIONS.pop("image")
KUBERNETES_NODES: list[str] = KUBERNETES_OPTIONS.pop("nodes")
CHANNEL_DIR = Path(env.text("CHANNEL_DIR", "/tmp/rl-arena"))
# Containers that fetch wheels reach the package index in the same way as the worker.
PIP_CERTIFICATES = env.text("PIP_CERT")
# The addresses may contain passwords.
PIP_ENVIRONMENT = {
    name: value
    for name, read in (
        ("PIP_INDEX_URL", env.secret),
        ("HTTPS_PROXY", env.secret),
        ("NO_PROXY", env.text),
    )
    if (value := read(name))
}
if (_index := urlsplit(PIP_ENVIRONMENT.get("PIP_INDEX_URL", ""))).scheme == "http":
    # Without this pip ignores an index without TLS.
    PIP_ENVIRONMENT["PIP_TRUSTED_HOST"] = _index.netloc.rpartition("@")[2]
_BUILDS = env.pairs("BUILD_OPTIONS", "network=bridge,constraints=", str)
BUILD_NETWORK, PIP_CONSTRAINTS = _BUILDS["network"], _BUILDS["constraints"]
BUILD_SCAN_COMMAND = shlex.split(env.text("BUILD_SCAN_COMMAND"))
_SCRIPTS: dict[str, Any] = env.pairs(
    "SCRIPT_OPTIONS",
    "memory_limit_bytes=536870912,cpu_count=0.5,seconds=300,requirements=gymnasium,base_images=",
    decimal,
    apart={"memory_limit_bytes": whole_number, "requirements": words, "base_images": images},
)
# Like PLAYER_BASE_IMAGES, for scripts; empty: the same.
SCRIPT_BASE_IMAGES: dict[tuple[int, int], str] = _SCRIPTS.pop("base_images")
SCRIPT_REQUIREMENTS: list[str] = _SCRIPTS.pop("requirements")
# The names are those of arena_kit.sandbox.scripts.ScriptLimits, which holds the other limits.
SCRIPT_LIMITS: dict[str, Any] = {**_SCRIPTS, "pids": 50}
ENVIRONMENTS_DIR = Path(env.text("ENVIRONMENTS_DIR") or DATA_DIR / "environments")
# Which submissions may add a registered Gymnasium environment: none, scripts, or players too.
OPEN_ENVIRONMENTS = env.choice("OPEN_ENVIRONMENTS", ("false", "scripts", "all"))
