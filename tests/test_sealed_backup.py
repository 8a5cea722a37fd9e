"""Backups that are encrypted to a public key, with the real program `age`."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError

from core.models import User
from core.operations.backup import sealed
from core.operations.backup.make import backup_make
from tests.backups import run, start_anew, state
from tests.samples import FIRST, tic_tac_toe, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("store"),
    pytest.mark.both_databases,
    pytest.mark.slow,
    pytest.mark.age,
]
NOW = datetime(2020, 11, 21, 16, 30, tzinfo=UTC)
SECRET = "a-team-in-the-database"


def new_key(path: Path) -> str:
    """Write a new private key to a file; return its public key."""
    subprocess.run(["age-keygen", "--output", str(path)], check=True, capture_output=True)
    return subprocess.run(["age-keygen", "-y", str(path)], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def recipient(tmp_path: Path) -> str:
    return new_key(tmp_path / "identity")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    upload(tic_tac_toe(), "first", FIRST)
    User.objects.update(team=SECRET)
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


def test_an_encrypted_backup_comes_back_with_its_private_key_alone(folder: Path, recipient: str) -> None:
    before = state()
    made = backup_make(folder, now=NOW, recipient=recipient)
    assert made.path.name == "arena-20201121T163000Z.tar.age"
    assert made.path.stat().st_mode & 0o777 == 0o600
    data = made.path.read_bytes()
    assert data.startswith(sealed.MAGIC)
    assert SECRET.encode() not in data
    assert b"manifest.json" not in data
    start_anew()
    empty = state()
    new_key(folder.parent / "another")
    with pytest.raises(CommandError, match="is encrypted: give the file with its private key by --identity"):
        run("restore", made.path)
    with pytest.raises(CommandError, match="age failed: .*no identity matched"):
        run("restore", made.path, "--identity", folder.parent / "another")
    made.path.with_name("cut").write_bytes(data[: len(data) // 2])
    with pytest.raises(CommandError, match="age failed"):
        run("restore", made.path.with_name("cut"), "--identity", folder.parent / "identity")
    assert state() == empty

    run("restore", made.path, "--identity", folder.parent / "identity")

    assert state() == before


def test_nothing_plain_is_written_where_encrypted_backups_are(
    folder: Path, recipient: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    add = backup_make.__globals__["_add"]

    def look(*given: object) -> None:
        seen.extend(path.name for path in folder.rglob("*"))
        assert not any(SECRET.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
        add(*given)

    monkeypatch.setitem(backup_make.__globals__, "_add", look)
    backup_make(folder, now=NOW, recipient=recipient)
    assert seen
    assert {name.rpartition(".")[2] for name in seen} == {"part"}


def test_a_key_that_age_refuses_leaves_nothing_and_deletes_no_older_backup(folder: Path, recipient: str) -> None:
    backup_make(folder, now=NOW - timedelta(days=1), recipient=recipient)
    with pytest.raises(CommandError, match="age failed: .*recipient"):
        run("backup", folder, "--encrypt-to", "age1nonsense", "--keep", "1")
    assert [path.name for path in folder.iterdir()] == ["arena-20201120T163000Z.tar.age"]


def test_plain_and_encrypted_backups_are_counted_together(folder: Path, recipient: str) -> None:
    backup_make(folder, now=NOW - timedelta(days=3))
    backup_make(folder, now=NOW - timedelta(days=2), recipient=recipient)
    backup_make(folder, now=NOW - timedelta(days=1))
    said = run("backup", folder, "--encrypt-to", recipient, "--keep", "2")
    assert said.count("Deleted: ") == 2
    left = sorted(path.name for path in folder.iterdir())
    assert left[0] == "arena-20201120T163000Z.tar"
    assert left[1].endswith(".tar.age")
    assert len(left) == 2


def test_a_machine_without_age_says_how_to_get_it(
    folder: Path, recipient: str, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setenv("PATH", "")
    with pytest.raises(CommandError, match="apt install age"):
        run("backup", folder, "--encrypt-to", recipient)
    assert list(folder.iterdir()) == []
