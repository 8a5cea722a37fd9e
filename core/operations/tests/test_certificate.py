"""What the arena says about the certificate of its own address: real handshakes on loopback."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from core.models import Alarm
from core.operations import certificate
from core.operations.certificate import ALARM, certificate_check

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def answering(pair: Path) -> Iterator[int]:
    """Something that speaks TLS on a port, with this certificate and key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    plain, _ = listener.accept()
                    with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as tls:
                        tls.recv(1)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=10)


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with certificates of an authority that this machine trusts, for ten days and for none."""
    authority = tmp_path / "ca.pem"
    make = ["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj"]
    names = tmp_path / "names"
    names.write_text("subjectAltName=DNS:localhost\n")
    commands = [[*make, "/CN=Authority", "-x509", "-days", "20", "-keyout", "ca.key", "-out", "ca.pem"],
                [*make, "/CN=localhost", "-x509", "-days", "20", "-keyout", "own.key", "-out", "own.pem"],
                [*make, "/CN=localhost", "-keyout", "key", "-out", "request"]]  # fmt: skip
    sign = ["openssl", "x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key", "-extfile", "names"]
    commands.append([*sign, "-set_serial", "2", "-days", "10", "-out", "good.pem"])
    commands.append([*sign, "-set_serial", "3", "-days", "-1", "-out", "over.pem"])
    for command in commands:
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    for name, key in (("good", "key"), ("over", "key"), ("own", "own.key")):
        file = tmp_path / f"{name}.pem"
        file.write_text(file.read_text() + (tmp_path / key).read_text())
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    return tmp_path


def said(settings: Settings, pair: Path) -> str:
    """What the open alarm says about a site with this certificate."""
    with answering(pair) as port:
        settings.SITE_URL = f"https://localhost:{port}"
        certificate_check()
    alarm = Alarm.objects.filter(key=ALARM, settled_at=None).first()
    return alarm.message if alarm else ""


def part(client: Client) -> str:
    cache.clear()
    return str(client.get("/health").json()["components"]["certificate"])


def test_a_certificate_that_ends_soon_or_has_ended_raises_an_alarm(
    settings: Settings, pairs: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(settings, pairs / "good.pem") == ""
    assert part(client) == "healthy"
    monkeypatch.setattr(certificate, "NOTICE", timedelta(days=11))
    assert "expires on" in said(settings, pairs / "good.pem")
    assert part(client) == "unhealthy"
    monkeypatch.undo()
    monkeypatch.setenv("SSL_CERT_FILE", str(pairs / "ca.pem"))
    assert said(settings, pairs / "over.pem").endswith("is refused by browsers: certificate has expired.")
    assert "nginx begins with" in said(settings, pairs / "own.pem")
    assert said(settings, pairs / "good.pem") == ""
    assert part(client) == "healthy"


def test_an_address_that_says_nothing_changes_nothing(
    settings: Settings, pairs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "expired" in said(settings, pairs / "over.pem")
    # The port is closed by now.
    certificate_check()
    assert Alarm.objects.get(key=ALARM).settled_at is None
    settings.SITE_URL = "http://localhost"
    certificate_check()
    assert Alarm.objects.get(key=ALARM).settled_at is not None
    # An authority of one's own, of which this machine has not been told.
    monkeypatch.delenv("SSL_CERT_FILE")
    assert said(settings, pairs / "good.pem") == ""
