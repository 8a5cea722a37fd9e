from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from publisher.git import Git, GitError
from publisher.remote import remote_of
from publisher.repository import Change, Repository, Snapshot, agent_folder
from publisher.source import PublishedSource, unpack_source
from publisher.tests.samples import PLAYER, Remote, new_remote, zip_of


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return new_remote(tmp_path / "remote.git")


@pytest.fixture
def repository(tmp_path: Path, remote: Remote) -> Repository:
    return repository_at(tmp_path / "copy.git", str(remote.folder))


def repository_at(folder: Path, address: str) -> Repository:
    return Repository.at(folder, remote=remote_of(address, ssh_folder=folder.parent), branch="main")


def publish(
    repository: Repository, files: Mapping[str, str | bytes], *, agent: str = "ann", message: str = "Publish"
) -> str:
    scratch = repository.folder.with_name(f"scratch-{os.urandom(4).hex()}")
    source = unpack_source(zip_of(files), scratch)
    return repository.change(as_change(source, agent), message=message, before_push=lambda: None)


def as_change(source: PublishedSource, agent: str = "ann") -> Callable[[Snapshot], Change]:
    folder = agent_folder("connect-four", agent)
    return lambda _: Change((folder,), {f"{folder}/{path}": source.folder / path for path in source.paths})


def test_an_agent_becomes_a_folder_of_an_empty_repository(repository: Repository, remote: Remote) -> None:
    commit = publish(repository, {"lib/search.py": "depth = 3\n"}, message="Publish ann v1")

    assert remote.paths() == ["connect-four/ann/lib/search.py", "connect-four/ann/player.py"]
    assert remote.text("connect-four/ann/player.py") == PLAYER
    assert remote.git("rev-parse", "main").strip() == commit
    assert remote.git("log", "-1", "--format=%an <%ae>: %s").strip() == "RL Arena <arena@localhost>: Publish ann v1"


def test_a_new_version_replaces_the_folder_and_nothing_else(repository: Repository, remote: Remote) -> None:
    publish(repository, {"old.py": "", "kind": "a file"}, message="v1")
    publish(repository, {}, agent="ann-2", message="another")
    remote.commit_beside("README.md", "By hand.")
    publish(repository, {"new.py": "", "kind/is.py": "a folder"}, message="v2")

    assert remote.paths() == [
        "README.md",
        "connect-four/ann-2/player.py",
        "connect-four/ann/kind/is.py",
        "connect-four/ann/new.py",
        "connect-four/ann/player.py",
    ]
    assert remote.subjects() == ["v2", "Change README.md", "another", "v1"]


def test_locks_of_a_git_that_was_killed_hold_up_no_publication(repository: Repository, remote: Remote) -> None:
    publish(repository, {}, message="v1")
    remote.commit_beside("README.md", "By hand.")
    for name in ("shallow.lock", "refs/heads/main.lock"):
        (repository.folder / name).touch()

    publish(repository, {"a.py": ""}, message="v2")

    assert remote.subjects() == ["v2", "Change README.md", "v1"]


def test_publishing_twice_gives_the_same_commit(repository: Repository, remote: Remote) -> None:
    first = publish(repository, {"a.py": ""}, message="once")
    assert publish(repository, {"a.py": ""}, message="again") == first
    assert remote.subjects() == ["once"]


def test_a_commit_of_another_author_in_between_is_kept(repository: Repository, remote: Remote, tmp_path: Path) -> None:
    publish(repository, {}, message="v1")
    races = iter(["first.txt", "second.txt"])

    def somebody_is_quicker() -> None:
        name = next(races, None)
        if name:
            remote.commit_beside(name, "quick")

    source = unpack_source(zip_of({"a.py": ""}), tmp_path / "source")
    repository.change(as_change(source), message="v2", before_push=somebody_is_quicker)

    assert remote.subjects() == ["v2", "Change second.txt", "Change first.txt", "v1"]
    assert {"first.txt", "second.txt", "connect-four/ann/a.py"} <= set(remote.paths())


def test_a_race_that_is_always_lost_ends(repository: Repository, remote: Remote, tmp_path: Path) -> None:
    publish(repository, {}, message="v1")
    names = iter(range(100))
    source = unpack_source(zip_of({"a.py": ""}), tmp_path / "source")

    with pytest.raises(GitError, match="git push failed") as error:
        repository.change(
            as_change(source),
            message="v2",
            before_push=lambda: remote.commit_beside(f"{next(names)}.txt", "quick"),
        )
    assert error.value.code == "race_lost"
    assert "v2" not in remote.subjects()


def test_nothing_is_pushed_when_the_job_is_lost(repository: Repository, remote: Remote, tmp_path: Path) -> None:
    class Lost(Exception):
        pass

    def stop() -> None:
        raise Lost

    source = unpack_source(zip_of({}), tmp_path / "source")
    with pytest.raises(Lost):
        repository.change(as_change(source), message="v1", before_push=stop)
    assert remote.git("for-each-ref") == ""


def test_a_repository_that_was_made_anew_is_filled_again(repository: Repository, remote: Remote) -> None:
    publish(repository, {"a.py": ""}, message="v1")
    remote.git("update-ref", "-d", "refs/heads/main")
    publish(repository, {"a.py": ""}, message="v1 again")
    assert remote.subjects() == ["v1 again"]


def test_bytes_reach_the_repository_unchanged(repository: Repository, remote: Remote) -> None:
    # In a working tree, attributes that were committed by hand would convert files and expand keywords.
    publish(repository, {}, message="v1")
    remote.commit_beside(".gitattributes", "* text eol=crlf ident\n*.bin working-tree-encoding=UTF-16\n")
    content = b"$Id$\r\nx\n\xff\x00"
    publish(repository, {"data.bin": content, '"odd" näme.py': "1\n"}, message="v2")

    listing = remote.git("ls-tree", "-r", "-z", "main", "connect-four/ann/").split("\0")
    names = {entry.partition("\t")[2]: entry.split()[0] for entry in listing if entry}
    assert set(names) == {f"connect-four/ann/{name}" for name in ("data.bin", '"odd" näme.py', "player.py")}
    assert set(names.values()) == {"100644"}
    blob = subprocess.run(
        ["git", "-C", str(remote.folder), "cat-file", "blob", "main:connect-four/ann/data.bin"],
        capture_output=True,
        check=True,
        timeout=30,
    )
    assert blob.stdout == content


def test_hooks_and_configuration_of_this_machine_are_ignored(
    repository: Repository, remote: Remote, tmp_path: Path
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-push", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\n")
        (hooks / name).chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n[init]\n\ttemplateDir = {tmp_path}\n")
    variables = {**os.environ, "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"), "GIT_DIR": "/nowhere"}

    publish(replace(repository, git=replace(repository.git, environment=variables)), {}, message="v1")

    assert remote.subjects() == ["v1"]
    assert sorted(path.name for path in tmp_path.glob("ran-*")) == []
    assert not (repository.folder / "hooks").exists()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("ext::sh -c 'touch owned'", "transport 'ext' not allowed"),
        ("git://arena.example/x", "transport 'git' not allowed"),
        ("--upload-pack=touch owned", "strange pathname"),
    ],
)
def test_addresses_that_run_commands_are_refused(tmp_path: Path, address: str, sentence: str) -> None:
    repository = Repository(tmp_path / "copy.git", address, "main", Git(tmp_path / "copy.git"))
    with pytest.raises(GitError, match=sentence):
        publish(repository, {}, message="v1")
    assert not list(tmp_path.rglob("owned"))


def test_a_password_in_the_address_is_never_told(tmp_path: Path) -> None:
    address = f"file://ann:secret-token@{tmp_path}/nowhere.git"
    repository = repository_at(tmp_path / "copy.git", address)
    with pytest.raises(GitError, match="git ls-remote failed") as error:
        publish(repository, {}, message="v1")
    assert "secret-token" not in str(error.value)
    assert "ann" not in str(error.value)


def test_a_remote_that_hangs_costs_a_time_out(tmp_path: Path) -> None:
    (tmp_path / "copy.git").mkdir()
    fifo = tmp_path / "never"
    os.mkfifo(fifo)
    git = Git(tmp_path / "copy.git", local_seconds=0.2)
    with pytest.raises(GitError, match=r"git hash-object took longer than 0\.2 s") as error:
        git.run("hash-object", "--no-filters", str(fifo))
    assert error.value.code == "git_timeout"


@pytest.mark.parametrize("agent", ["", "..", ".git", "a/b", "-x", "ann\n"])
def test_odd_names_never_become_folders(repository: Repository, agent: str) -> None:
    with pytest.raises(GitError, match="cannot be a folder") as error:
        publish(repository, {}, agent=agent)
    assert error.value.code == "bad_name"
