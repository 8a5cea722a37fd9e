"""Programs that end-to-end tests run beside themselves, on the database under test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.parse import quote

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
STOP_SECONDS = 120
METRICS_TOKEN = "a-token-for-this-test"
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""For Chromium as root in a container, with nothing that asks for the network."""


def database_url() -> str:
    """Address of the database under test, as the variable DATABASE_URL takes it."""
    database = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{database['NAME']}"
    who = f"{quote(database['USER'])}:{quote(database['PASSWORD'])}@{quote(database['HOST'], safe='')}"
    return f"postgresql://{who}:{database['PORT'] or ''}/{database['NAME']}"


def production_variables(redis_url: str, data: Path) -> dict[str, str]:
    """The variables of a production site with containers, on the database under test and the settings of its test."""
    return {
        "DEBUG": "false",
        "SECRET_KEY": "a-key-for-this-test-alone-0123456789-abcdefghijklmnop",
        "ALLOWED_HOSTS": "127.0.0.1",
        "DATABASE_URL": database_url(),
        "REDIS_URL": redis_url,
        "DATA_DIR": str(data),
        "METRICS_DIR": str(data / "metrics"),
        "METRICS_TOKEN": METRICS_TOKEN,
        "TRUSTED_PROXIES": "1",
        "CHANNEL_DIR": str(settings.CHANNEL_DIR),
        "PLAYER_IMAGE_PREFIX": settings.PLAYER_IMAGE_PREFIX,
        "SANDBOX": "docker",
    }


def manage(variables: Mapping[str, str], *arguments: str) -> None:
    """Run a management command to its end."""
    command = [sys.executable, "manage.py", *arguments]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=True, timeout=300)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Return whether a program listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(
    variables: Mapping[str, str], *command: str, output: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A Python program with everything it starts, ended afterwards. output: a file for what it prints."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **variables},
        start_new_session=True,
        stdout=output,
        stderr=output,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
