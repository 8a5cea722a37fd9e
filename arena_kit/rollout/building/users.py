"""The users of services as numbers: a cluster looks at no names, and lets no one in whose number it does not know."""

from __future__ import annotations

import contextlib

from arena_kit.rollout.exports.state import ExportRefused
from arena_kit.rollout.packages.compose import Service
from arena_kit.rollout.worlds.docker_world import DockerWorld

_PASSWD, _GROUP = "/etc/passwd", "/etc/group"
ROOT = "0"


def user_of(world: DockerWorld, service: Service) -> str:
    """Return whom a service runs as, e.g. 1000:1000; empty if its image does not say. Raises PlatformFault."""
    files = {}
    for path in (_PASSWD, _GROUP):
        files[path] = ""
        with contextlib.suppress(ExportRefused):
            files[path] = world.file(service.name, path).decode("utf-8", "replace")
    return numbers_of(service.user, files[_PASSWD], files[_GROUP])


def numbers_of(user: str, passwd: str, group: str) -> str:
    """Return a user as an image's configuration has it, such as app, 1000 or app:app, as numbers; empty if unknown."""
    name, _, wanted = user.partition(":")
    name = name or ROOT
    known = [line.split(":") for line in passwd.splitlines()]
    found = next((each for each in known if len(each) > 3 and name in (each[0], each[2])), None)
    uid = name if name.isdecimal() else (found[2] if found else "")
    gid = found[3] if found else ROOT
    if wanted:
        groups = [line.split(":") for line in group.splitlines()]
        named = next((each[2] for each in groups if len(each) > 2 and wanted == each[0]), "")
        gid = wanted if wanted.isdecimal() else named
    return f"{int(uid)}:{int(gid)}" if uid.isdecimal() and gid.isdecimal() else ""
