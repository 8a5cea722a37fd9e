"""Commands that ask a site, where the site is hostile, slow, or not there."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena_kit.cli.common import BadArgument
from arena_kit.cli.follow import STUCK_POLLS, TRIES, challenge_follow, follow, patiently
from arena_kit.cli.main import VERBS, main, usage
from arena_kit.cli.sites import Sites, path_of_sites, read_sites, write_sites
from arena_kit.client import Client, SiteError, Trouble
from arena_kit.tests.client.sites import Said, Site, said, site
from arena_kit.tests.upload.test_archive import zip_of

TOKEN = "arena_secret-token"
ID = "7c9a1f2e-3b4d-4c5e-8f60-718293a4b5c6"
HOSTILE = "\x1b[2J\x1b]0;owned\x07"
ABOUT = {
    "service": "rl-arena", "name": "A", "version": "1", "kit_version": "1",
    "kit_url": "https://a.example/k.whl", "api_versions": ["v1"],
    "max_upload_bytes": 1000,
}  # fmt: skip
Arena = Callable[..., tuple[int, str, str]]


def version(status: str = "READY", **fields: object) -> dict[str, object]:
    agent = {"id": 3, "name": "mine", "owner": "ada"}
    return {"id": ID, "number": 1, "agent": agent, "environment": "tic-tac-toe", "status": status, "phases": [],
            "error": "", "warnings": [], **fields}  # fmt: skip


def phase(state: str, fault: str = "NONE") -> dict[str, object]:
    return {"kind": "build", "id": 5, "state": state, "fault": fault, "error_code": ""}


@pytest.fixture(scope="module")
def running() -> Iterator[Site]:
    with site() as found:
        yield found


@pytest.fixture
def remote(running: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    running.answer, running.by_path, running.asked = said({"detail": "No."}, 404), {}, []
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ARENA_URL", running.url)
    monkeypatch.setenv("ARENA_TOKEN", TOKEN)
    monkeypatch.chdir(tmp_path)
    return running


@pytest.fixture
def arena(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Arena]:
    handler = signal.getsignal(signal.SIGTERM)

    def run(*words: str, typed: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        status = main(words)
        found = capsys.readouterr()
        assert TOKEN not in found.out + found.err
        assert not set("\x1b\x07") & set(found.out + found.err)
        return status, found.out, found.err

    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.parametrize(
    "words",
    [
        ("status", ID), ("logs", ID), ("board", "tic-tac-toe"), ("challenge", "1", "2"), ("replay", "1/1"),
        ("pull", ID), ("pull", "tic-tac-toe"), ("login", "URL", "--with-token"), ("submit", "PLAYER", "--environment",
        "tic-tac-toe", "--name", "x", "--quiet"), ("submit", "PLAYER", "--new-version-of", "e/a", "--quiet"),
        ("replay", "1/1", "--diff", "PLAYER"),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (Said(200, b"<html>hello", "text/html"), 1),
        (Said(502, b"<html>bad gateway", "text/html"), 1),
        (Said(302, headers={"Location": "https://elsewhere.example/"}), 1),
        (Said(raw=b""), 1),
        (said([1, 2]), 1),
        (said({"detail": HOSTILE + "no"}, 403), 3),
        (said({"detail": "who?"}, 401), 4),
        (said({"detail": "slow"}, 429, **{"Retry-After": "7"}), 1),
    ],
    ids=["page", "gateway", "redirect", "cut", "list", "forbidden", "unauthorized", "busy"],
)
def test_no_answer_of_a_site_is_a_traceback(
    remote: Site, arena: Arena, tmp_path: Path, words: tuple[str, ...], answer: Said, status: int
) -> None:
    (tmp_path / "me").mkdir()
    (tmp_path / "me" / "player.py").write_text("class Player: ...\n")
    remote.answer = answer
    given = [{"URL": remote.url, "PLAYER": str(tmp_path / "me")}.get(word, word) for word in words]
    got, out, err = arena(*given, "--json", typed=f"{TOKEN}\n")
    assert got == status, out + err
    assert err.startswith("arena: ")
    assert {"code", "error"} <= json.loads(out).keys()


def test_what_a_site_sends_is_unpacked_as_carefully_as_an_upload(remote: Site, arena: Arena, tmp_path: Path) -> None:
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version(agent={"id": 1, "name": "../../x", "owner": "o"}))
    address = f"/api/v1/submissions/{ID}/archive.zip"
    remote.by_path[address] = Said(200, zip_of(("../evil.py", b"x")).getvalue(), "application/zip")
    assert arena("pull", ID, "--json")[0] == 3
    assert not (tmp_path.parent / "evil.py").exists()
    remote.by_path[address] = Said(200, zip_of().getvalue(), "application/zip")
    status, out, _ = arena("pull", ID, "--json")
    assert (status, json.loads(out)["folder"]) == (0, "x-v1")
    assert (tmp_path / "x-v1" / "player.py").is_file()


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ({"rank": 3, "size": 11, "number": 1, "rating": 2195.4}, "rank         3 of 11, rating 2195, with version 1"),
        ({"rank": 2, "size": None, "number": 1, "score": 0.78}, "rank         2, score 0.78, with version 1"),
    ],
)
def test_the_status_of_a_version_has_the_rank_of_its_agent(
    remote: Site, arena: Arena, place: dict[str, object], line: str
) -> None:
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version(place=place))
    assert f"  {line}\n" in arena("status", ID)[1]


def test_texts_of_a_site_cannot_move_the_cursor(remote: Site, arena: Arena) -> None:
    failed = version("FAILED", error=f"It broke.{HOSTILE}", warnings=[HOSTILE], phases=[phase("FAILED", "PLAYER")])
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(failed)
    remote.by_path["/api/v1/jobs/build/5/log/"] = said({"log": f"line{HOSTILE}\nend"})
    assert arena("status", ID)[0] == 3
    assert arena("status", ID, "--json")[0] == 3
    status, out, _ = arena("logs", ID)
    assert (status, "line" in out) == (0, True)


def test_an_upload_that_is_too_large_is_not_sent(remote: Site, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "player.py").write_text("#" * 10)
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 40)
    remote.by_path["/api/v1/"] = said({**ABOUT, "max_upload_bytes": 200})
    status, out, _ = arena("submit", str(tmp_path), "--environment", "e", "--name", "n", "--quiet", "--json")
    assert (status, json.loads(out)["code"]) == (3, "upload_too_large")
    assert [method for method, *_ in remote.asked] == ["GET"]


def test_tokens_on_a_drive_without_modes_are_taken_with_a_word(
    remote: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sites(Sites("https://a.org", {"https://a.org": TOKEN})).chmod(0o777)
    monkeypatch.setattr("arena_kit.machine.files.keeps_modes", lambda folder: False)
    assert read_sites().tokens == read_sites().tokens == {"https://a.org": TOKEN}
    assert capsys.readouterr().err.count("closes no file to others") == 1


def test_tokens_are_saved_for_their_owner_alone(remote: Site) -> None:
    path = write_sites(Sites("https://a.org", {"https://a.org": TOKEN}))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert TOKEN not in repr(read_sites())
    path.chmod(0o640)
    with pytest.raises(BadArgument, match="chmod 600"):
        read_sites()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"last": 1, "tokens": []}', "{" * 100_000, "\ufeff{}"])
def test_a_damaged_file_of_tokens_is_a_sentence(remote: Site, content: str) -> None:
    path = path_of_sites()
    path.parent.mkdir(parents=True)
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(BadArgument, match="damaged"):
        read_sites()


def test_a_token_is_not_sent_to_a_site_it_was_not_saved_for(
    remote: Site, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARENA_TOKEN")
    write_sites(Sites("https://a.org", {"https://a.org": TOKEN}))
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    assert arena("status", ID)[0] == 0
    assert "Authorization" not in remote.asked[0][2]
    status, out, _ = arena("challenge", "1", "2", "--json")
    assert (status, json.loads(out)["code"]) == (4, "login_needed")


@pytest.mark.parametrize("chosen", ["http://127.0.0.1:1", "https://arena.example.org/other"])
def test_the_token_of_the_environment_is_that_of_its_site(
    remote: Site, arena: Arena, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    assert arena("status", ID, "--site", f"{remote.url}/")[0] == 0
    monkeypatch.setenv("ARENA_URL", chosen)
    assert arena("status", ID, "--site", remote.url)[0] == 0
    monkeypatch.delenv("ARENA_URL")
    assert arena("status", ID, "--site", remote.url)[0] == 0
    sent = [headers.get("Authorization") for _, _, headers, _ in remote.asked]
    assert sent == [f"Bearer {TOKEN}", None, f"Bearer {TOKEN}"]


def test_a_token_that_others_on_the_way_can_read_is_warned_of_once_in_every_command(
    remote: Site, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    assert "not encrypted" not in arena("status", ID)[2], "this machine"
    monkeypatch.setattr("arena_kit.client.transport.LOCAL_HOSTS", ())
    for words in (("status", ID), ("status", ID, "--json")):
        assert arena(*words)[2].count("is not encrypted: others on the way can read your token.") == 1
    monkeypatch.delenv("ARENA_TOKEN")
    assert "not encrypted" not in arena("status", ID)[2]


def test_a_machine_without_a_home_takes_site_and_token_from_the_environment(
    remote: Site, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    assert arena("status", ID)[0] == 0
    monkeypatch.delenv("ARENA_TOKEN")
    status, _, err = arena("status", ID)
    assert status == 2
    assert "no home folder" in err


def test_a_number_that_is_no_number_is_a_sentence(remote: Site, arena: Arena) -> None:
    assert "is not a version that the site knows" in arena("status", "tic-tac-toe/mine/²")[2]


def test_a_version_is_named_by_the_name_of_an_agent_of_ones_own(remote: Site, arena: Arena) -> None:
    agent = {"id": 3, "name": "mine", "owner": "ada", "environment": "tic-tac-toe", "is_public": False}
    remote.by_path = {
        "/api/v1/me/": said({"username": "ada"}),
        "/api/v1/agents/": said({"results": [agent], "next": None}),
        "/api/v1/submissions/": said({"results": [{"id": ID}], "next": None}),
        f"/api/v1/submissions/{ID}/": said(version()),
    }
    status, out, err = arena("status", "mine")
    assert (status, err) == (0, "")
    assert f"id {ID}" in out
    assert any("owner=ada" in path for _, path, _, _ in remote.asked)
    status, _, err = arena("status", "other")
    assert (status, "There is no agent 'other' of yours." in err) == (3, True)


def follow_through(remote: Site, *answers: dict[str, object]) -> tuple[int, list[str], int]:
    """Follow a version that changes as given; return status, sentences, and how often it was slept."""
    left, heard, slept = list(answers), list[str](), list[float]()

    class Turning(dict[str, Said]):
        def get(self, key: str, default: Said | None = None) -> Said:  # type: ignore[override]
            if "/jobs/" in key:
                job = {"kind": "build", "id": 5, "state": "QUEUED", "error_code": "", "error": ""}
                return said({**job, "wait": {"sentence": "No worker.", "is_stuck": True}})
            return said(left.pop(0) if len(left) > 1 else left[0])

    remote.by_path = Turning()
    _, status = follow(Client(remote.url), ID, heard.append, sleep=slept.append)
    return status, heard, len(slept)


def test_following_tells_every_change_once_and_ends(remote: Site) -> None:
    building = version("BUILDING", phases=[phase("RUNNING")])
    status, heard, slept = follow_through(remote, building, building, version("READY"))
    assert (status, len(heard), slept) == (0, 2, 2)
    assert follow_through(remote, version("FAILED", phases=[phase("FAILED", "PLAYER")]))[0] == 3
    assert follow_through(remote, version("FAILED", phases=[phase("FAILED", "PLATFORM")]))[0] == 1
    status, _, slept = follow_through(remote, version("WAITING", phases=[phase("QUEUED")]))
    assert (status, slept) == (1, STUCK_POLLS)


def challenge(*states: str) -> dict[str, object]:
    opponent = {"agent": {"name": "rival", "owner": "bea"}, "number": 1}
    result = {"won": 1, "drawn": 0, "lost": 0}
    duels = [{"duel": n, "opponent": opponent, "state": state, "result": result} for n, state in enumerate(states, 1)]
    return {"id": 7, "environment": "tic-tac-toe", "duels": duels}


def test_following_a_challenge_ends_with_it_or_when_waiting_does_not_help(remote: Site) -> None:
    def through(*answers: dict[str, object], is_stuck: bool) -> tuple[int, list[str], int]:
        left, heard, slept = list(answers), list[str](), list[float]()

        class Turning(dict[str, Said]):
            def get(self, key: str, default: Said | None = None) -> Said:  # type: ignore[override]
                if "/jobs/duel/" in key:
                    job = {"kind": "duel", "id": 2, "state": "QUEUED", "error_code": "", "error": ""}
                    return said({**job, "wait": {"sentence": "Why.", "is_stuck": is_stuck}})
                return said(left.pop(0) if len(left) > 1 else left[0])

        remote.by_path = Turning()
        _, status = challenge_follow(Client(remote.url), 7, heard.append, sleep=slept.append)
        return status, heard, len(slept)

    half, done = challenge("SUCCEEDED", "QUEUED"), challenge("SUCCEEDED", "CANCELLED")
    assert through(half, half, done, is_stuck=False) == (0, ["1 of 2 duels are over. Why."], 2)
    assert through(challenge("SUCCEEDED", "FAILED"), is_stuck=False) == (1, [], 0)
    assert through(challenge("RUNNING"), done, is_stuck=False) == (0, ["The duel is running. Why."], 1)
    status, heard, slept = through(half, is_stuck=True)
    assert (status, slept) == (1, STUCK_POLLS)
    assert heard == ["1 of 2 duels are over. Why.", "Waiting longer does not help: the organisers have to act."]


def test_a_challenge_is_named_before_it_is_followed(remote: Site, arena: Arena) -> None:
    remote.by_path = {"/api/v1/challenges/": said(challenge("QUEUED"), 201)}
    # The site forgets it, as an answer that ends following.
    status, _, err = arena("challenge", "1", "2", "--follow")
    assert (status, f"Challenge 7 in tic-tac-toe: {remote.url}/challenges/7/" in err) == (3, True)


def test_what_a_site_says_of_an_upload_is_told(remote: Site, arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "player.py").write_text("class Player: ...\n")
    sentence = "Version 1 has the same archive, so nothing new was uploaded."
    sent = version(agent={"id": 3, "name": "mine", "owner": "ada"}, notes=[sentence])
    remote.by_path = {"/api/v1/agents/3/submissions/": said(sent, 201)}
    words = ("submit", str(tmp_path), "--new-version-of", "3", "--quiet")
    status, out, err = arena(*words)
    assert (status, sentence in err, "mine, version 1" in out) == (0, True, True)
    assert json.loads(arena(*words, "--json")[1])["notes"] == [sentence]
    # Older sites say nothing.
    remote.by_path = {"/api/v1/agents/3/submissions/": said(version(), 201)}
    assert json.loads(arena(*words, "--json")[1])["notes"] == []


def test_trouble_that_passes_is_waited_for_as_long_as_the_site_says() -> None:
    heard, slept = list[str](), list[float]()
    answers = iter([SiteError("Busy.", trouble=Trouble.BUSY, retry_after_seconds=9), None])

    def ask() -> str:
        error = next(answers)
        if error is not None:
            raise error
        return "here"

    assert patiently(ask, heard.append, slept.append) == "here"
    assert (heard, slept) == (["Busy. Trying again."], [9.0])

    def gone() -> str:
        raise SiteError("Cut.", trouble=Trouble.CUT)

    with pytest.raises(SiteError):
        patiently(gone, heard.append, slept.append)
    assert len(slept) == TRIES

    def private() -> str:
        raise SiteError("Private.", trouble=Trouble.NOT_ALLOWED)

    with pytest.raises(SiteError):
        patiently(private, heard.append, slept.append)
    assert len(slept) == TRIES


def test_an_environment_goes_by_its_id_of_older_systems_too(remote: Site, arena: Arena) -> None:
    lake = {
        "slug": "frozen-lake", "env_id": "FrozenLake-v1", "version": "frozen-lake-v1", "name": "FrozenLake",
        "is_scored": True, "takes_scripts": True,
    }  # fmt: skip
    remote.by_path["/api/v1/environments/"] = said({"results": [{**lake, "env_id": "Other-v1"}, lake], "next": None})
    remote.by_path["/api/v1/environments/frozen-lake/board/"] = said({"results": [], "count": 0})
    assert arena("board", "FrozenLake-v1")[:2] == (0, "The leaderboard of frozen-lake is empty.\n")
    status, _, err = arena("board", "Nowhere-v1")
    assert (status, err) == (3, "arena: No.\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_json(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([verb, "--help"])
    shown = capsys.readouterr().out
    assert caught.value.code == 0
    assert "--json" in shown
    assert "Exit code: 0" in " ".join(shown.split())
    assert f"  {verb}" in usage()


def test_another_kit_than_the_sites_is_told_once_a_day(
    remote: Site, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena_kit.cli.sites.kit_version", lambda: "0.1.0+kaaaaaaaaaaaa")
    offered = {**ABOUT, "kit_version": "0.1.0+kbbbbbbbbbbbb", "kit_url": f"{remote.url}/kit/files/b/b.whl"}
    remote.by_path["/api/v1/"] = said(offered)
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    _, _, told = arena("status", ID)
    assert f"{remote.url} plays by arena-kit 0.1.0+kbbbbbbbbbbbb, and this is 0.1.0+kaaaaaaaaaaaa" in told
    assert f'pip install "arena-kit @ {remote.url}/kit/files/b/b.whl"' in told
    assert arena("status", ID)[2] == ""
    # What stood in the file before, such as tokens, is still there.
    write_sites(Sites("https://a.example", {"https://a.example": "t"}))
    assert "plays by" in arena("status", ID)[2]
    assert read_sites().tokens == {"https://a.example": "t"}


def test_a_login_while_the_kits_are_compared_is_kept(
    remote: Site, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Client.arena

    def meanwhile(client: Client) -> object:
        write_sites(Sites("https://a.example", {"https://a.example": "t"}))
        return ask(client)

    monkeypatch.setattr("arena_kit.cli.sites.kit_version", lambda: "0.1.0+kaaaaaaaaaaaa")
    monkeypatch.setattr(Client, "arena", meanwhile)
    remote.by_path["/api/v1/"] = said({**ABOUT, "kit_version": "0.1.0+kbbbbbbbbbbbb"})
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    assert "plays by" in arena("status", ID)[2]
    assert read_sites().tokens == {"https://a.example": "t"}
    assert remote.url in read_sites().compared
    # The site says this to everybody, so it gets no token.
    assert ["Authorization" in one[2] for one in remote.asked] == [False, True]


def test_the_version_is_said_to_people_and_to_sites(remote: Site, arena: Arena) -> None:
    remote.by_path[f"/api/v1/submissions/{ID}/"] = said(version())
    assert arena("--version")[1].startswith("arena-kit source (Python 3.")
    arena("status", ID)
    assert remote.asked[-1][2]["User-Agent"] == "arena-kit/source"
