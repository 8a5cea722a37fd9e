"""What plays: sandboxes, images, scripts and environments."""

import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from core.settings.base import DATA_DIR, env
from core.variables import decimal, whole_number, yes_or_no

SANDBOX = env.text("SANDBOX", "docker")
# Base images by version of Python; the first is the default. The site compiles uploads with its own Python.
PLAYER_BASE_IMAGES = env.images("PLAYER_BASE_IMAGES", "rl-arena-base")
PLAYER_BASE_IMAGE = next(iter(PLAYER_BASE_IMAGES.values()))
PLAYER_IMAGE_PREFIX = env.text("PLAYER_IMAGE_PREFIX", "rl-arena-player")
# The address may begin with the name of an account.
PLAYER_REGISTRY_USER, _, PLAYER_REGISTRY = env.text("PLAYER_REGISTRY").rpartition("@")
PLAYER_REGISTRY_PASSWORD = env.secret("PLAYER_REGISTRY_PASSWORD")
IMAGE_CACHE_BYTES = env.number("IMAGE_CACHE_BYTES", 50 * 1024**3)
# Where players may come from as container images; empty: from nowhere.
IMAGE_REGISTRIES = env.words("IMAGE_REGISTRIES")
IMAGE_MAX_BYTES = env.number("IMAGE_MAX_BYTES", 4 * 1024**3)
# With SANDBOX=docker. duel_runner.workplace reads them.
PLAYER_CONTAINERS: dict[str, Any] = env.pairs(
    "PLAYER_CONTAINERS", "runtime=runc,cgroup_parent=,warm=32", str, apart={"warm": whole_number}
)
# With SANDBOX=kubernetes. duel_runner.lots.site reads them.
KUBERNETES_IMAGE = env.text("KUBERNETES_IMAGE")
KUBERNETES_OPTIONS: dict[str, Any] = env.pairs(
    "KUBERNETES_OPTIONS",
    "namespace=arena-players,lots=10,lot_size=2,pull_secret=,runtime_class=,priority_class=,queue=,"
    "host_users=yes,nodes=",
    str,
    apart={"lots": whole_number, "lot_size": whole_number, "host_users": yes_or_no},
)
KUBERNETES_NODES = [word.strip() for word in KUBERNETES_OPTIONS.pop("nodes").split(";") if word.strip()]
CHANNEL_DIR = Path(env.text("CHANNEL_DIR", "/tmp/rl-arena"))
# Containers that fetch wheels reach the package index in the same way as the worker.
PIP_CERTIFICATES = env.text("PIP_CERT")
PLAYER_PIP_CONSTRAINTS = env.text("PLAYER_PIP_CONSTRAINTS")
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
BUILD_NETWORK = env.text("BUILD_NETWORK", "bridge")
BUILD_SCAN_COMMAND = shlex.split(env.text("BUILD_SCAN_COMMAND"))
# As PLAYER_BASE_IMAGES, but for scripts; empty: the same.
SCRIPT_BASE_IMAGE = env.images("SCRIPT_BASE_IMAGE", "")
SCRIPT_REQUIREMENTS = env.words("SCRIPT_REQUIREMENTS", "gymnasium")
# The names are those of arena_kit.sandbox.scripts.ScriptLimits, which holds the other limits.
SCRIPT_LIMITS: dict[str, Any] = {
    **env.pairs(
        "SCRIPT_LIMITS",
        "memory_limit_bytes=536870912,cpu_count=0.5,seconds=300",
        decimal,
        apart={"memory_limit_bytes": whole_number},
    ),
    "pids": 50,
}
ENVIRONMENTS_DIR = Path(env.text("ENVIRONMENTS_DIR") or DATA_DIR / "environments")
# Whether a submission may add an environment that Gymnasium here has registered: not, a script, or a player as well.
OPEN_ENVIRONMENTS = env.choice("OPEN_ENVIRONMENTS", ("false", "scripts", "all"))
