"""Certificates for tests, made by openssl."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Certificate:
    """The paths of a certificate and its key."""

    certificate: Path
    key: Path

    def pair(self) -> tuple[bytes, bytes]:
        """Return key and certificate, as gRPC takes them."""
        return self.key.read_bytes(), self.certificate.read_bytes()


def authority(folder: Path, name: str = "ca") -> Certificate:
    """Make a certificate authority."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    _openssl("req", "-x509", *_new(made, name), "-days", "2", "-out", str(made.certificate))
    return made


def signed(folder: Path, name: str, by: Certificate, *names: str, days: int = 2) -> Certificate:
    """Make a certificate with alternative names, e.g. IP:127.0.0.1. days: below 0 for one that has expired."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    request, extension = folder / f"{name}.csr", folder / f"{name}.ext"
    extension.write_text(f"subjectAltName={','.join(names)}\n")
    _openssl("req", *_new(made, name), "-out", str(request))
    _openssl(
        "x509", "-req", "-in", str(request), "-CA", str(by.certificate), "-CAkey", str(by.key), "-CAcreateserial",
        "-days", str(days), "-extfile", str(extension), "-out", str(made.certificate),
    )  # fmt: skip
    return made


def _new(made: Certificate, name: str) -> list[str]:
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    return [*curve, "-keyout", str(made.key), "-subj", f"/CN={name}"]


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
