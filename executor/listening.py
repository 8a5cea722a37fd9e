"""Where the executor listens, and who can reach it there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

UNIX = "unix:"
CLIENTS = "clients.crt"
"""The authority of clients' certificates. Not ca.crt, which cert-manager writes beside every certificate."""


@dataclass(frozen=True, slots=True)
class Listening:
    """An address, HOST:PORT or unix:PATH, with its certificates, which are paths of PEM files or empty."""

    address: str
    certificate: str = ""
    key: str = ""
    client_ca: str = ""

    @property
    def is_local(self) -> bool:
        """Return whether only programs of this machine reach it."""
        if self.address.startswith(UNIX):
            return True
        host = self.address.rpartition(":")[0].strip("[]")
        try:
            return ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def is_encrypted(self) -> bool:
        return bool(self.certificate)

    def problems(self) -> Iterator[str]:
        """Yield a sentence for everything that keeps the executor from listening there."""
        host, _, port = self.address.rpartition(":")
        if not self.address.startswith(UNIX) and not (host and port.isdecimal() and int(port) < 2**16):
            yield f"The address {self.address!r} is neither HOST:PORT nor unix:PATH."
        if not self.is_local and not self.is_encrypted:
            yield (
                f"The executor would listen on {self.address} in plain text, where tokens can be read on their way. "
                "Give it a certificate with --tls FOLDER, or an address of this machine."
            )
        for path in (self.certificate, self.key, self.client_ca):
            if path and not Path(path).is_file():
                yield f"The folder of --tls has no file {path}."


def listening(address: str, tls: str) -> Listening:
    """Return where to listen. tls: a folder like the files of a Kubernetes Secret of type tls; empty: plain text."""
    if not tls:
        return Listening(address)
    folder = Path(tls)
    clients = folder / CLIENTS
    # A link that leads nowhere is a file that is missing, not permission to connect without a certificate.
    client_ca = str(clients) if os.path.lexists(clients) else ""
    return Listening(address, str(folder / "tls.crt"), str(folder / "tls.key"), client_ca)
