"""A service in compose.yml: the part of Compose's format that a world without a network and volumes has."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena_kit.rollout.packages.documents import seconds, size, words
from arena_kit.rollout.values.equality import shown
from arena_kit.rollout.values.fields import Fields
from arena_kit.rollout.values.paths import NOTHING

FILE = "compose.yml"
LEAST_MEMORY_BYTES = 8 << 20
"""Engines start no container with less than 6 MiB."""
KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
BASES = ("base:python", "base:postgres", "base:redis", "base:nginx", "base:node", "base:mediawiki")
REFUSED: Mapping[str, str] = {
    "build": "Images are made by the arena: name a base in image, and folders in files and requirements.",
    "volumes": "A world keeps nothing; data goes into seed/ and is part of the image. Use tmpfs for scratch files.",
    "ports": "A world has no way out; write the port in expose.",
    "networks": "All services share one network that has only loopback; they find each other by name.",
    "network_mode": "All services share one network that has only loopback; they find each other by name.",
    "privileged": "No service has privileges.",
    "cap_add": "No service has capabilities.",
    "devices": "No service has devices.",
    "security_opt": "The walls of services are the arena's own.",
    "pid": "Every service sees its own processes only.",
    "ipc": "Every service has its own shared memory.",
    "extends": "Write the service out; other files are not read.",
    "include": "Write the services out; other files are not read.",
    "secrets": "A world has no secrets; use environment.",
    "configs": "Put the file under services/ and name its folder in files.",
    "env_file": "Write the variables in environment.",
    "profiles": "All services of a world start.",
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}\Z|[0-9]{1,6}(?::[0-9]{1,6})?\Z")
_PATH = re.compile(r"/(?!.*(?:^|/)\.\.(?:/|$))[\w./-]{0,200}\Z", re.ASCII)
_TMPFS = re.compile(r"(?P<path>/[^:]*)(?::size=(?P<size>[0-9]{1,6})(?P<unit>[kmgKMG]?))?\Z")


@dataclass(frozen=True, slots=True)
class Caps:
    """The limits of a service on a site, and the images that organisers allow beside the bases."""

    memory_bytes: int = 4 << 30
    cpu_count: float = 4.0
    pids: int = 1024
    tmpfs_bytes: int = 1 << 30
    images: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """How it is found out whether a service is ready. test: a command in the service; empty: that its ports accept."""

    test: tuple[str, ...] = ()
    interval_seconds: float = 1.0
    timeout_seconds: float = 5.0
    retries: int = 60
    start_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Service:
    """One container of a world. files: a folder of the package. after: the services that must be healthy before."""

    name: str
    image: str
    files: str = ""
    requirements: str = ""
    command: tuple[str, ...] | None = None
    entrypoint: tuple[str, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    ports: tuple[int, ...] = ()
    after: tuple[str, ...] = ()
    health: HealthCheck = field(default_factory=HealthCheck)
    user: str = ""
    working_dir: str = ""
    tmpfs: Mapping[str, int] = field(default_factory=dict)
    memory_bytes: int = 512 << 20
    cpu_count: float = 1.0
    pids: int = 256
    read_only: bool = False


def service_read(name: str, fields: Fields, caps: Caps) -> Service:
    """Return a service; what is wrong with its keys is added to the flaws."""
    service = Service(
        name=name,
        image=_image(fields, caps),
        files=_folder(fields, "files"),
        requirements=_folder(fields, "requirements"),
        command=words(fields, "command"),
        entrypoint=words(fields, "entrypoint"),
        environment=_environment(fields),
        ports=_ports(fields),
        after=_after(fields),
        health=_health(fields),
        user=_matching(fields, "user", _USER, "a name or a number, such as 1000 or 1000:1000"),
        working_dir=_matching(fields, "working_dir", _PATH, "an absolute path without .."),
        tmpfs=_tmpfs(fields, caps),
        memory_bytes=size(fields, "mem_limit", default=512 << 20, most=caps.memory_bytes, least=LEAST_MEMORY_BYTES),
        cpu_count=fields.number("cpus", default=1.0, least=0.1, most=caps.cpu_count),
        pids=fields.whole("pids_limit", default=256, least=1, most=caps.pids),
        read_only=fields.flag("read_only", default=False),
    )
    refuse_keys(fields)
    fields.finish()
    return service


def refuse_keys(fields: Fields) -> None:
    """Add a flaw for every key of Compose's that a world cannot have."""
    for name, sentence in REFUSED.items():
        if fields.take(name) is not NOTHING:
            fields.flaw("refused_key", name, sentence)


def _image(fields: Fields, caps: Caps) -> str:
    image = fields.text("image", most=200, is_needed=True)
    if image and image not in (*BASES, *caps.images):
        allowed = ", ".join((*BASES, *caps.images))
        fields.flaw("unknown_image", "image", f"{shown(image)} is not among the images of this site: {allowed}.")
    return image


def _folder(fields: Fields, name: str) -> str:
    """Return a path within the package."""
    path = fields.text(name, most=200).rstrip("/")
    if path and (path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/"))):
        fields.flaw("bad_value", name, "It must be a path within the package, such as services/web.")
    return path


def _environment(fields: Fields) -> Mapping[str, str]:
    """Return the variables; a dollar sign stands for itself, since nothing of the host is filled in."""
    found = {}
    for name, value in (fields.object("environment") or {}).items():
        if not _VARIABLE.match(name) or isinstance(value, bool | dict | list | None):
            fields.flaw(
                "bad_value", "environment", f"{shown(name)} must be a name of letters with a text in quotation marks."
            )
        elif "${" in str(value):
            fields.flaw(
                "bad_value", "environment", f"The value of {name} asks for a variable of the host; write it out."
            )
        else:
            found[name] = str(value)
    return found


def _ports(fields: Fields) -> tuple[int, ...]:
    value = fields.take("expose")
    if value is NOTHING:
        return ()
    ports = (
        [int(each) if isinstance(each, str) and each.isdecimal() else each for each in value] if _is_list(value) else []
    )
    if ports and all(isinstance(each, int) and not isinstance(each, bool) and 1 <= each <= 65_535 for each in ports):
        return tuple(dict.fromkeys(ports))
    fields.flaw("bad_value", "expose", "It must be a list of ports from 1 to 65535.")
    return ()


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and 1 <= len(value) <= 20


def _after(fields: Fields) -> tuple[str, ...]:
    value = fields.take("depends_on")
    if value is NOTHING:
        return ()
    if isinstance(value, dict) and all(each in (None, {"condition": "service_healthy"}) for each in value.values()):
        value = list(value)
    if _is_list(value) and all(isinstance(each, str) for each in value):
        return tuple(dict.fromkeys(value))
    fields.flaw("bad_value", "depends_on", "It must be a list of services; each is waited for until it is healthy.")
    return ()


def _health(fields: Fields) -> HealthCheck:
    value = fields.object("healthcheck")
    if value is None:
        return HealthCheck()
    inner, usual = Fields(value, f"{fields.path}.healthcheck", fields.flaws), HealthCheck()
    test = words(inner, "test") or ()
    if test in (("CMD",), ("CMD-SHELL",)) or test[:1] == ("NONE",):
        inner.flaw("bad_value", "test", "Write a command, or leave healthcheck out: then the ports must accept.")
    if test[:1] == ("CMD-SHELL",):
        test = ("/bin/sh", "-c", *test[1:])
    found = HealthCheck(
        test=test[1:] if test[:1] == ("CMD",) else test,
        interval_seconds=seconds(inner, "interval", default=usual.interval_seconds, most=60),
        timeout_seconds=seconds(inner, "timeout", default=usual.timeout_seconds, most=60),
        retries=inner.whole("retries", default=usual.retries, least=1, most=1_000),
        start_seconds=seconds(inner, "start_period", default=0.0, most=600),
    )
    inner.finish()
    return found


def _matching(fields: Fields, name: str, pattern: re.Pattern[str], what: str) -> str:
    value = fields.take(name)
    if value is NOTHING:
        return ""
    if isinstance(value, str | int) and not isinstance(value, bool) and pattern.match(str(value)):
        return str(value)
    fields.flaw("bad_value", name, f"It must be {what}.")
    return ""


def _tmpfs(fields: Fields, caps: Caps) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for each in fields.texts("tmpfs", most=10, most_characters=300):
        match = _TMPFS.match(each)
        power = {"": 0, "k": 10, "m": 20, "g": 30}[match["unit"].lower()] if match and match["unit"] else 0
        count = int(match["size"]) << power if match and match["size"] else min(64 << 20, caps.tmpfs_bytes)
        if match is None or not _is_for_files(match["path"]) or not 0 < count <= caps.tmpfs_bytes:
            sentence = f"{shown(each)} must be a path with a size of at most {caps.tmpfs_bytes >> 20}m: /tmp:size=64m."
            fields.flaw("bad_value", "tmpfs", sentence)
        else:
            found[match["path"]] = count
    return found


def _is_for_files(path: str) -> bool:
    """Return whether a service may have files of its own there, which is not so where the kernel shows its own."""
    plain = posixpath.normpath(f"/{path.lstrip('/')}")
    owned = any(plain == folder or plain.startswith(f"{folder}/") for folder in KERNEL_FOLDERS)
    return bool(_PATH.match(path)) and plain.strip("/") != "" and not (owned and plain != "/dev/shm")  # noqa: S108  (in the container)
