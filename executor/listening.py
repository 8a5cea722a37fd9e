"""Where the executor listens, and who can reach it there. Without gRPC: the system check uses it as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from django.conf import settings

UNIX = "unix:"


@dataclass(frozen=True, slots=True)
class Listening:
    """An address, HOST:PORT or unix:PATH, with its certificates, which are paths of PEM files or empty."""

    address: str
    certificate: str = ""
    key: str = ""
    client_ca: str = ""

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine reach it."""
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
            yield f"EXECUTOR_ADDRESS is {self.address!r}, neither HOST:PORT nor unix:PATH."
        if bool(self.certificate) != bool(self.key):
            yield "EXECUTOR_CERTIFICATE and EXECUTOR_KEY belong together: set both or neither."
        if self.client_ca and not self.certificate:
            yield "EXECUTOR_CLIENT_CA is set without EXECUTOR_CERTIFICATE: certificates of clients need TLS."
        if not self.is_local and not self.is_encrypted:
            yield f"The executor would listen on {self.address} in plain text, where tokens can be read on their way."
        names = {"CERTIFICATE": self.certificate, "KEY": self.key, "CLIENT_CA": self.client_ca}
        for name, path in names.items():
            if path and not Path(path).is_file():
                yield f"EXECUTOR_{name} names {path}, which is no file."


def listening() -> Listening:
    """Return what the settings say."""
    return Listening(
        settings.EXECUTOR_ADDRESS, settings.EXECUTOR_CERTIFICATE, settings.EXECUTOR_KEY, settings.EXECUTOR_CLIENT_CA
    )
