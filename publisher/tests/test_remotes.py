"""Pushing to real servers: over ssh with known hosts, and over HTTPS with a token; and two hosts at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from publisher.git import GitError
from publisher.remote import Remote, is_ssh, remote_of
from publisher.repository import Author, Change, Repository
from publisher.tests import samples, servers
from publisher.tests.servers import HttpsServer, SshServer
from publisher.troubles import TROUBLES, trouble_of

TOKEN = "tok%2Fen-9f3a"
USER, PASSWORD = "arena", "tok/en-9f3a"


@pytest.fixture
def bare(tmp_path: Path) -> samples.Remote:
    return samples.new_remote(tmp_path / "agents.git")


@pytest.fixture
def sshd(tmp_path: Path, bare: samples.Remote) -> Iterator[SshServer]:
    with servers.ssh_server(tmp_path, bare.folder) as server:
        yield server


@pytest.fixture
def forge(tmp_path: Path, bare: samples.Remote) -> Iterator[HttpsServer]:
    with servers.https_server(tmp_path, tmp_path, user=USER, password=PASSWORD) as server:
        yield server


def over_ssh(tmp_path: Path, server: SshServer) -> Repository:
    return Repository.at(
        tmp_path / "copy.git", remote=remote_of(server.address, ssh_folder=server.folder), branch="main"
    )


def over_https(tmp_path: Path, server: HttpsServer, address: str, *, trusted: bool = True) -> Repository:
    made = Repository.at(tmp_path / "copy.git", remote=remote_of(address, ssh_folder=tmp_path), branch="main")
    variables = {**made.git.environment, **({"GIT_SSL_CAINFO": str(server.authority)} if trusted else {})}
    return replace(made, git=replace(made.git, environment=variables))


def push(repository: Repository, tmp_path: Path, name: str = "a", content: str = "depth = 3\n") -> str:
    file = tmp_path / f"file-{name}"
    file.write_text(content)
    change = Change(files={f"connect-four/{name}/player.py": file})
    return repository.change(lambda _: change, message=f"Publish {name}", before_push=lambda: None)


def refused(repository: Repository, tmp_path: Path) -> GitError:
    with pytest.raises(GitError) as error:
        push(repository, tmp_path)
    return error.value


@pytest.mark.sshd
def test_over_ssh_a_server_is_trusted_only_by_its_known_key(
    tmp_path: Path, bare: samples.Remote, sshd: SshServer
) -> None:
    repository = over_ssh(tmp_path, sshd)
    assert repository.try_out() is False
    assert push(repository, tmp_path) == bare.git("rev-parse", "main").strip()
    assert bare.paths() == ["connect-four/a/player.py"]
    assert bare.git("for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    assert repository.try_out() is True

    known = sshd.folder / "known_hosts"
    line = known.read_text()
    known.write_text("")
    assert refused(repository, tmp_path).code == "host_unknown"
    assert known.read_text() == "", "a server was trusted on first use"
    other = (sshd.folder / "id_ed25519.pub").read_text().split()[1]
    known.write_text(f"{line.rsplit(' ', 1)[0]} {other}\n")
    assert refused(repository, tmp_path).code == "host_changed"
    known.write_text(line)

    sshd.authorized.write_text("")
    trouble = refused(repository, tmp_path)
    assert trouble.code == "key_refused"
    assert "give the public key write access" in str(trouble)


@pytest.mark.sshd
def test_over_ssh_the_key_opens_this_one_repository(tmp_path: Path, sshd: SshServer) -> None:
    elsewhere = replace(sshd, address=sshd.address.replace("agents.git", "nowhere.git"))
    assert refused(over_ssh(tmp_path, elsewhere), tmp_path).code == "repository_missing"


def test_a_forge_takes_a_token_that_no_command_line_shows(
    tmp_path: Path, bare: samples.Remote, forge: HttpsServer
) -> None:
    repository = over_https(tmp_path, forge, forge.address(f"{USER}:{TOKEN}@", "agents.git"))
    assert repository.remote == forge.address("", "agents.git")
    # Above git's buffer of 1 MiB the push comes in chunks.
    large = "".join(f"{number * 7919 % 1000003:x}" for number in range(600_000))
    assert push(repository, tmp_path, content=large) == bare.git("rev-parse", "main").strip()
    assert len(bare.text("connect-four/a/player.py")) == len(large)
    assert repository.try_out() is True


def test_a_forge_that_refuses_is_told_by_its_code(tmp_path: Path, forge: HttpsServer) -> None:
    wrong = refused(over_https(tmp_path, forge, forge.address("arena:wr0ng-secret@", "agents.git")), tmp_path)
    assert wrong.code == "token_refused"
    assert "wr0ng" not in str(wrong)

    good = f"{USER}:{TOKEN}@"
    assert refused(over_https(tmp_path, forge, forge.address(good, "none.git")), tmp_path).code == "repository_missing"
    moved = refused(over_https(tmp_path, forge, forge.address(good, "moved/agents.git")), tmp_path)
    assert moved.code == "address_moved", "the token must not follow to another address"
    untrusted = over_https(tmp_path, forge, forge.address(good, "agents.git"), trusted=False)
    assert refused(untrusted, tmp_path).code == "certificate_refused"


def test_a_branch_that_refuses_us_and_a_server_that_is_away_are_told(tmp_path: Path, bare: samples.Remote) -> None:
    hook = bare.folder / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'You are not allowed to push code to protected branches' >&2\nexit 1\n")
    hook.chmod(0o755)
    here = Repository.at(tmp_path / "copy.git", remote=Remote(str(bare.folder)), branch="main")
    assert refused(here, tmp_path).code == "branch_protected"

    away = f"https://localhost:{servers.free_port()}/agents.git"
    gone = Repository.at(tmp_path / "copy.git", remote=Remote(away), branch="main")
    assert refused(gone, tmp_path).code == "remote_unreachable"


def test_two_hosts_that_push_at_once_lose_nothing(tmp_path: Path, bare: samples.Remote) -> None:
    start, errors = threading.Barrier(2), []

    def host(number: int) -> None:
        folder = tmp_path / f"host-{number}"
        folder.mkdir()
        repository = Repository.at(
            folder / "copy.git", remote=Remote(str(bare.folder)), branch="main", author=Author(f"host {number}")
        )
        try:
            for turn in range(4):
                start.wait(timeout=60)
                push(repository, folder, name=f"{number}-{turn}")
        except Exception as error:
            errors.append(error)
            start.abort()

    threads = [threading.Thread(target=host, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)

    assert errors == []
    assert bare.paths() == sorted(f"connect-four/{number}-{turn}/player.py" for number in range(2) for turn in range(4))
    # One line of history: a race is lost and repeated, never merged or forced.
    assert bare.git("rev-list", "--count", "main").strip() == "8"
    assert bare.git("rev-list", "--merges", "main") == ""


@pytest.mark.parametrize(
    ("address", "ssh"),
    [
        ("ssh://git@host/agents.git", True),
        ("git@host.example:agents.git", True),
        ("https://user:word@host/agents.git", False),
        ("/srv/agents.git", False),
        ("file:///srv/agents.git", False),
        ("ext::sh -c 'touch owned'", False),
    ],
)
def test_addresses_of_ssh_are_known(address: str, ssh: bool) -> None:
    assert is_ssh(address) is ssh


def test_a_password_stands_in_no_argument() -> None:
    remote = remote_of("https://ada:p%40ss@git.example:8443/agents.git", ssh_folder=Path("/nowhere"))
    assert remote.address == "https://git.example:8443/agents.git"
    assert remote.variables["GIT_CONFIG_VALUE_0"] == "Authorization: Basic YWRhOnBAc3M="
    assert {"p@ss", "YWRhOnBAc3M="} <= set(remote.secrets)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("remote: fatal: write error: No space left on device\nerror: remote unpack failed: unpacker error",
         "repository_full"),
        ("! [remote rejected] main -> main (protected branch hook declined)", "branch_protected"),
        ("! [rejected] abc -> main (fetch first)", "race_lost"),
        ("ssh: Could not resolve hostname git.example: Name or service not known", "remote_unreachable"),
        ("remote: Repository not found.\nfatal: repository 'https://x/' not found", "repository_missing"),
        ("something new", "git_failed"),
    ],
)  # fmt: skip
def test_words_of_git_and_forges_have_a_code(said: str, code: str) -> None:
    assert trouble_of(said).code == code


def test_every_trouble_says_what_to_do() -> None:
    assert all(trouble.advice.endswith(".") for trouble in TROUBLES)
