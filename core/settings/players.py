"""What plays: sandboxes, images, scripts and environments."""

import shlex
from pathlib import Path
from typing import Any

from core.settings.base import DATA_DIR, env

SANDBOX = env.text("SANDBOX", "docker")
# Base images by version of Python; the first is the default. The site compiles uploads with its own Python.
PLAYER_BASE_IMAGES = env.images("PLAYER_BASE_IMAGES", "rl-arena-base")
PLAYER_BASE_IMAGE = next(iter(PLAYER_BASE_IMAGES.values()))
PLAYER_IMAGE_PREFIX = env.text("PLAYER_IMAGE_PREFIX", "rl-arena-player")
PLAYER_REGISTRY = env.text("PLAYER_REGISTRY")
PLAYER_REGISTRY_USER = env.text("PLAYER_REGISTRY_USER")
PLAYER_REGISTRY_PASSWORD = env.secret("PLAYER_REGISTRY_PASSWORD")
IMAGE_CACHE_BYTES = env.number("IMAGE_CACHE_BYTES", 50 * 1024**3)
PLAYER_RUNTIME = env.text("PLAYER_RUNTIME", "runc")
PLAYER_CGROUP_PARENT = env.text("PLAYER_CGROUP_PARENT")
# With SANDBOX=kubernetes. duel_runner.lots.site reads them.
KUBERNETES_CONFIG = env.text("KUBERNETES_CONFIG")
KUBERNETES_NAMESPACE = env.text("KUBERNETES_NAMESPACE", "arena-players")
KUBERNETES_IMAGE = env.text("KUBERNETES_IMAGE")
KUBERNETES_LOTS = env.number("KUBERNETES_LOTS", 10)
KUBERNETES_PULL_SECRET = env.text("KUBERNETES_PULL_SECRET")
KUBERNETES_RUNTIME_CLASS = env.text("KUBERNETES_RUNTIME_CLASS")
KUBERNETES_PRIORITY_CLASS = env.text("KUBERNETES_PRIORITY_CLASS")
KUBERNETES_QUEUE = env.text("KUBERNETES_QUEUE")
KUBERNETES_NODES = env.words("KUBERNETES_NODES")
CHANNEL_DIR = Path(env.text("CHANNEL_DIR", "/tmp/rl-arena"))
WARM_PLAYERS = env.number("WARM_PLAYERS", 32)
# Containers that fetch wheels reach the package index in the same way as the worker.
PIP_CERTIFICATES = env.text("PIP_CERT")
PLAYER_PIP_CONSTRAINTS = env.text("PLAYER_PIP_CONSTRAINTS")
# The addresses may contain passwords.
PIP_ENVIRONMENT = {
    name: value
    for name, read in (
        ("PIP_INDEX_URL", env.secret),
        ("PIP_TRUSTED_HOST", env.text),
        ("HTTPS_PROXY", env.secret),
        ("NO_PROXY", env.text),
    )
    if (value := read(name))
}
BUILD_NETWORK = env.text("BUILD_NETWORK", "bridge")
BUILD_SCAN_COMMAND = shlex.split(env.text("BUILD_SCAN_COMMAND"))
# As PLAYER_BASE_IMAGES, but for scripts; empty: the same.
SCRIPT_BASE_IMAGE = env.images("SCRIPT_BASE_IMAGE", "")
SCRIPT_REQUIREMENTS = env.words("SCRIPT_REQUIREMENTS", "gymnasium")
# The names are those of arena_kit.sandbox.scripts.ScriptLimits, which holds the other limits.
SCRIPT_LIMITS: dict[str, Any] = {
    "memory_limit_bytes": env.number("SCRIPT_MEMORY_BYTES", 512 * 1024 * 1024),
    "cpu_count": env.decimal("SCRIPT_CPU_COUNT", 0.5),
    "pids": 50,
    "seconds": env.decimal("SCRIPT_SECONDS", 300.0),
}
ENVIRONMENTS_DIR = Path(env.text("ENVIRONMENTS_DIR") or DATA_DIR / "environments")
# Whether a submission may add an environment that Gymnasium here has registered: not, a script, or a player as well.
OPEN_ENVIRONMENTS = env.choice("OPEN_ENVIRONMENTS", ("false", "scripts", "all"))
