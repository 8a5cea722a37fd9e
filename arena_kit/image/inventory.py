"""Finds out what a base image holds, once per image and process, in a locked-down container without a network."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

import docker

from arena_kit.image.container import LockedContainer
from arena_kit.image.labels import container_name

LOOK = """
import importlib.metadata, json, platform, re
def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
debian = []
for block in read("/var/lib/dpkg/status").split("\\n\\n"):
    fields = dict(line.split(": ", 1) for line in block.splitlines() if re.match(r"[A-Z][A-Za-z-]*: ", line))
    if fields.get("Status", "").endswith(" installed"):
        debian.append((fields["Package"], fields["Version"], fields.get("Architecture", "all")))
release = dict(line.split("=", 1) for line in read("/etc/os-release").splitlines() if "=" in line)
python = {}
for found in importlib.metadata.distributions():
    if found.metadata["Name"]:
        python.setdefault(re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower(), found.version)
print(json.dumps({"system": release.get("ID", "linux").strip('"'), "version": release.get("VERSION_ID", "").strip('"'),
                  "debian": debian, "python": python, "interpreter": platform.python_version()}))
"""


@dataclass(frozen=True, slots=True)
class Inventory:
    """The contents of a base image.

    system, system_version: as in os-release. interpreter: version of Python. debian: (name, version, architecture) of
    each package. python: version by normalised name.
    """

    system: str
    system_version: str
    interpreter: str
    debian: tuple[tuple[str, str, str], ...]
    python: dict[str, str]


_known: dict[str, Inventory] = {}


def inventory(client: docker.DockerClient, image_id: str, prefix: str) -> Inventory:
    """Return what an image holds. Raises BuilderUnavailable."""
    if image_id not in _known:
        name = container_name(prefix, f"inventory-{uuid.uuid4().hex}")
        with LockedContainer(client, image_id, name=name, prefix=prefix) as container:
            found = container.look(LOOK)
        debian = tuple((name, version, architecture) for name, version, architecture in found["debian"])
        _known[image_id] = Inventory(found["system"], found["version"], found["interpreter"], debian, found["python"])
    return _known[image_id]
