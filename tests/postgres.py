"""A private PostgreSQL server for tests and measured programs: without a network, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

SERVER_OPTIONS = (
    "-c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"
)
"""No network, and no care for a power cut: the data live as long as the tests."""


class NoPostgres(Exception):
    """PostgreSQL cannot be had here; the message says why."""


@contextmanager
def postgres_url() -> Iterator[str]:
    """A database address: the given ARENA_TEST_DATABASE_URL, or that of a private server. Raises NoPostgres."""
    given = os.environ.get("ARENA_TEST_DATABASE_URL")
    if given:
        yield given
        return
    programs = postgres_programs()
    folder = Path(tempfile.mkdtemp(prefix="arena-pg-"))
    user = unprivileged_user()
    try:
        if user is not None:
            os.chown(folder, user, -1)
        data = folder / "data"
        call([programs / "initdb", "-D", data, "-U", "arena", "-A", "trust", "-E", "UTF8", "--no-sync"], user)
        options = f"{SERVER_OPTIONS} -k {folder}"
        call([programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"], user)
        try:
            yield f"postgresql://arena@{quote(str(folder), safe='')}/postgres"
        finally:
            call([programs / "pg_ctl", "-D", data, "-w", "-m", "immediate", "stop"], user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def postgres_programs() -> Path:
    """Folder of initdb and pg_ctl, the newest version installed. Raises NoPostgres."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    for folder in [*debian, *([Path(on_path).parent] if on_path else [])]:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    raise NoPostgres("its server is not installed (on Debian: apt install postgresql).")


def unprivileged_user() -> int | None:
    """The user id that the server runs as: it refuses root. None: the caller's own."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise NoPostgres("it does not run as root, and there is no user postgres or nobody.")


def call(command: list[str | Path], user: int | None) -> None:
    """Run a server program to its end. Raises NoPostgres with its output when it fails."""
    # The server's output must not be a pipe: the daemon would hold it open for ever.
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            command, user=user, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        )
        output.seek(0)
        if done.returncode != 0:
            raise NoPostgres(f"{Path(command[0]).name} failed: {output.read().strip()}")
