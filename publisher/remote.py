"""The address of the remote repository, apart from the secrets that open it."""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
"""Names of private keys in the folder of ssh, in the order in which they are tried."""
SHORT_SSH = re.compile(r"[^/:@]+@[^/:]+:(?!//).+|[^/:@]{2,}:(?![:/]).+")
"""`git@example.org:agents.git`, git's short form of an ssh address."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository.

    address: as git's argument, which everyone on this host can read, so without user and password for HTTPS.
    secrets: texts that no message may contain. variables: what gives git the password, or ssh its key and hosts.
    """

    address: str
    secrets: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_ssh(self) -> bool:
        return is_ssh(self.address)


def remote_of(address: str, *, ssh_folder: Path) -> Remote:
    """Return the remote of a setting, e.g. `https://user:token@host/agents.git` or `git@host:agents.git`.

    ssh_folder: holds the private key and `known_hosts`; hosts that are not in it are never trusted.
    """
    if is_ssh(address):
        return Remote(address, (address,), {"GIT_SSH_COMMAND": shlex.join(_ssh(ssh_folder))})
    parts = urlsplit(address)
    if parts.scheme != "https" or "@" not in parts.netloc:
        return Remote(address, (address,))
    credentials, _, host = parts.netloc.rpartition("@")
    user, _, password = (unquote(part) for part in credentials.partition(":"))
    header = base64.b64encode(f"{user}:{password}".encode()).decode()
    # A header needs no helper program, and variables are seen by this user alone.
    variables = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "http.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {header}",
    }
    secrets = tuple(text for text in (address, credentials, header, password or user) if text)
    return Remote(urlunsplit(parts._replace(netloc=host)), secrets, variables)


def is_ssh(address: str) -> bool:
    """Return whether git reaches an address by ssh."""
    return address.startswith("ssh://") or SHORT_SSH.fullmatch(address) is not None


def _ssh(folder: Path) -> list[str]:
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": "20",
        "ServerAliveInterval": "15",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(folder / "known_hosts"),
        "UpdateHostKeys": "no",
        "IdentitiesOnly": "yes",
        "ForwardAgent": "no",
        "ClearAllForwardings": "yes",
    }
    keys = [word for name in KEYS if (folder / name).exists() for word in ("-i", str(folder / name))]
    # Without a file of settings, what counts is written here alone.
    return [
        "ssh",
        "-F",
        "none",
        *keys,
        *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
    ]
