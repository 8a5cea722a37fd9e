"""The builder's list of allowed kernel calls is that of the players' containers, and sockets for the internet."""

from __future__ import annotations

import json
from typing import Any

from arena_kit.image import container
from arena_kit.sandbox import docker

INTERNET = (2, 10)


def profile(module: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(module.SECCOMP_PROFILE.read_text())
    return found


def test_only_sockets_for_the_internet_are_added() -> None:
    ours, players = profile(container), profile(docker)

    added = [rule for rule in ours["syscalls"] if rule not in players["syscalls"]]

    assert added == [
        {
            "names": ["socket"],
            "action": "SCMP_ACT_ALLOW",
            "args": [{"index": 0, "value": family, "op": "SCMP_CMP_EQ"}],
        }
        for family in INTERNET
    ]
    ours["syscalls"] = [rule for rule in ours["syscalls"] if rule not in added]
    assert ours == players
