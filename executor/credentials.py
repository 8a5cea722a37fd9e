"""The server's certificates, read again when their files change: a renewal needs no restart."""

from __future__ import annotations

import logging
from pathlib import Path

import grpc

from executor.listening import Listening

logger = logging.getLogger(__name__)
Stamp = tuple[tuple[int, int, int], ...]


def credentials(where: Listening) -> grpc.ServerCredentials:
    """Return credentials that follow the files. With a CA of clients, only they can connect. Raises OSError."""
    paths = [Path(name) for name in (where.key, where.certificate, where.client_ca) if name]
    first, used = _read(paths), _stamp(paths)

    def renewed() -> grpc.ServerCertificateConfiguration | None:
        """Return the files' content if it has changed since the last connection. gRPC asks at every handshake."""
        nonlocal used
        try:
            found = _stamp(paths)
            if found == used:
                return None
            configuration = _read(paths)
        except OSError as error:
            logger.warning("The certificates cannot be read, so the last ones stay: %s", error)
            return None
        used = found
        return configuration

    return grpc.dynamic_ssl_server_credentials(
        first,
        renewed,  # type: ignore[arg-type]  # None means no change, which the stubs do not know
        require_client_authentication=bool(where.client_ca),
    )


def _read(paths: list[Path]) -> grpc.ServerCertificateConfiguration:
    key, certificate, *ca = (path.read_bytes() for path in paths)
    return grpc.ssl_server_certificate_configuration([(key, certificate)], root_certificates=ca[0] if ca else None)


def _stamp(paths: list[Path]) -> Stamp:
    found = [path.stat() for path in paths]
    return tuple((status.st_ino, status.st_mtime_ns, status.st_size) for status in found)
