"""The command `arena` against a live site, from the login to the board, as a participant uses it."""

from __future__ import annotations

import io
import json
import signal
import stat
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn
from urllib.request import urlopen

import pytest
from django.core.cache import cache
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from arena_kit.cli.main import main
from arena_kit.cli.sites import path_of_sites
from arena_kit.environment.protocol import UnknownEnvironment
from core.duels.replays import ReplayForm, replay_file_make
from core.editions.advance import environment_advance
from core.editions.tests.scored import score_all, step
from core.models import Duel, Submission, Tournament, User
from core.people.tokens import token_create
from core.tests import factories
from tests.samples import BROKEN, FIRST, LAST, MIDDLE, deliver_messages, tic_tac_toe, upload

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
Arena = Callable[..., tuple[int, str, str]]


class Terminal(io.StringIO):
    """Standard input of a person."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def arena(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    settings: Settings,
    live_server: LiveServer,
) -> Iterator[Arena]:
    """Run the command in a home of its own; return exit code, standard output and standard error."""
    settings.SANDBOX, settings.DEBUG, settings.DATA_DIR = "process", True, tmp_path
    cache.clear()
    # A busy machine leaves no inspection to the build.
    for name in ("MOST_SECONDS", "PATIENCE_SECONDS"):
        monkeypatch.setattr(f"arena_kit.upload.inspection.{name}", 300.0)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARENA_TOKEN", raising=False)
    monkeypatch.delenv("ARENA_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    handler = signal.getsignal(signal.SIGTERM)

    def run(*words: str, typed: str = "", terminal: bool = False) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", Terminal(typed) if terminal else io.StringIO(typed))
        status = main(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    yield run
    signal.signal(signal.SIGTERM, handler)


def token_of(user: User) -> str:
    return token_create(owner=user, name="laptop", now=timezone.now(), days=1)[1]


def player(folder: Path, source: str) -> str:
    folder.mkdir()
    (folder / "player.py").write_text(source)
    return str(folder)


def unknown(name: str) -> NoReturn:
    raise UnknownEnvironment(name)


def done(result: tuple[int, str, str]) -> dict[str, Any]:
    """Return what a command printed as JSON; it must have worked."""
    status, out, err = result
    assert status == 0, out + err
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_participant_does_everything_without_a_browser(
    arena: Arena, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tic_tac_toe("tic-tac-toe-v2")
    ada = factories.user("ada")
    rival = upload(environment, "rival", LAST)
    token = token_of(ada)

    # Login: the token is in no output, and its file is for its owner alone.
    status, out, err = arena("login", live_server.url, "--with-token", typed=f"{token}\n")
    assert (status, token in out + err) == (0, False), err
    assert "You are ada" in out
    assert stat.S_IMODE(path_of_sites().stat().st_mode) == 0o600

    # A new agent: taken, built, validated.
    mine = player(tmp_path / "mine", FIRST)
    submitted = done(
        arena("submit", mine, "--environment", "tic-tac-toe", "--name", "mine", "--public", "--quiet", "--json")
    )
    assert (submitted["number"], submitted["agent"]["name"]) == (1, "mine")
    deliver_messages()
    assert done(arena("status", submitted["id"], "--json"))["status"] == "READY"
    assert "ready" in arena("status", "tic-tac-toe/mine")[1]

    # A new version, followed to its end.
    other = player(tmp_path / "other", MIDDLE)
    monkeypatch.setattr("arena_kit.cli.follow.follow.__kwdefaults__", {"sleep": lambda _: deliver_messages()})
    status, out, err = arena("submit", other, "--new-version-of", "mine", "--follow", "--quiet")
    assert (status, "version 2" in out) == (0, True), out + err

    # Logs: of the arena, and of the player.
    logs = done(arena("logs", "tic-tac-toe/mine/2", "--json"))["logs"]
    assert "loaded for" in logs["validation, player 1"]
    assert {"build", "validation"} <= logs.keys()

    # The board, a comparison, and a challenge.
    status, out, err = arena("board", "tic-tac-toe")
    assert (status, "mine v" in out) == (0, True), out + err
    status, out, err = arena("compare", "tic-tac-toe", "mine v1", "rival")
    assert (status, "mine v1" in out, "rival v1" in out) == (0, True, True), out + err
    status, out, err = arena("challenge", "mine", "tic-tac-toe/rival")
    assert (status, "against rival, version 1" in out) == (0, True), out + err
    deliver_messages()

    # A rated match: in words, with the player that played it, and with another one.
    duel = Duel.objects.filter(tournament__isnull=False, player_1__agent__name="mine").first()
    duel = duel or Duel.objects.filter(tournament__isnull=False, player_2__agent__name="mine").first()
    assert duel is not None
    number = (duel.player_1 if duel.player_1.agent.name == "mine" else duel.player_2).number
    same, changed = (mine, other) if number == 1 else (other, mine)
    status, out, err = arena("replay", f"{duel.pk}/1")
    assert (status, "opens with" in out, "plays" in out) == (0, True, True), out + err
    status, out, err = arena("replay", f"{duel.pk}/1", "--html", "match.html", "--document", "match.json", "--json")
    assert (status, json.loads(out)) == (0, json.loads((tmp_path / "match.json").read_text())), err
    assert json.loads(out)["frames"][0]["observations"]
    # The library draws the page, just as the site does; where it does not have the rules, the site's page is written.
    page = replay_file_make(job=duel, number=1, form=ReplayForm.HTML).content
    assert ((tmp_path / "match.html").read_bytes(), err) == (page, "")
    with monkeypatch.context() as patched:
        patched.setattr("arena_kit.cli.site_replay.get_spec", unknown)
        status, out, err = arena("replay", f"{duel.pk}/1", "--html", "site.html")
    assert (status, out, "The site has drawn the page." in err) == (0, "", True)
    assert (tmp_path / "site.html").read_bytes() == page
    status, out, err = arena("replay", f"{duel.pk}/1", "--diff", same, "--sandbox", "process")
    assert (status, "moves are the same" in out) == (0, True), out + err
    status, out, err = arena("replay", f"{duel.pk}/1", "--diff", changed, "--sandbox", "process", "--json")
    found = json.loads(out)
    assert (status, found["same_moves"]) == (3, 0)
    assert found["difference"]["played"] != found["difference"]["chosen"]
    assert found["difference"]["position"]

    # Files come back as they were sent; those of another person's private agent do not.
    status, out, err = arena("pull", submitted["id"])
    assert status == 0, err
    assert (tmp_path / "mine-v1" / "player.py").read_text() == FIRST
    assert arena("pull", submitted["id"])[0] == 2
    status, out, err = arena("pull", str(rival.public_id))
    assert (status, "private" in err) == (3, True)
    status, out, err = arena("pull", "tic-tac-toe")
    assert status == 0, err
    assert (tmp_path / "environments" / "tic_tac_toe" / "info.yml").is_file()
    status, out, err = arena("pull", "tic-tac-toe", "--matches", "--json")
    assert (status, json.loads(out)["licence"]) == (0, "CC-BY-4.0"), err
    assert (tmp_path / "tic-tac-toe-matches.jsonl").is_file()

    pytest.importorskip("minari")
    for form, name in (("parquet", "tic-tac-toe-matches.parquet"), ("minari", "arena")):
        status, out, err = arena("pull", "tic-tac-toe", "--matches", "--format", form, "--json")
        assert (status, json.loads(out)["file"]) == (0, name), err
        assert (tmp_path / name).exists()

    # The variable wins over the file, and a wrong token is a sentence of its own.
    monkeypatch.setenv("ARENA_TOKEN", "arena_wrong")
    status, out, err = arena("status", submitted["id"], "--json")
    assert (status, json.loads(out)["code"], "arena login" in err) == (4, "login_needed", True)


def test_what_the_site_refuses_is_said_with_its_words(arena: Arena, live_server: LiveServer, tmp_path: Path) -> None:
    tic_tac_toe()
    owner = factories.user("ada")
    assert arena("login", live_server.url, "--with-token", typed=f"{token_of(owner)}\n")[0] == 0
    bad = player(tmp_path / "bad", "class Player\n")
    new = ("--environment", "tic-tac-toe", "--name", "bad", "--quiet")

    here = arena("submit", bad, *new, "--json")
    there = arena("submit", bad, *new, "--json", "--no-check")

    assert (here[0], there[0]) == (3, 3)
    assert json.loads(here[1])["code"] == json.loads(there[1])["code"] == "does_not_compile"
    assert json.loads(here[1])["error"] == json.loads(there[1])["error"]
    assert not Submission.objects.exists()

    checked = arena("check", bad, "--environment", "tic-tac-toe", "--files-only", "--json")
    assert (checked[0], json.loads(checked[1])["error"]) == (3, json.loads(there[1])["error"])

    for words, code, status in (
        (("status", "00000000-0000-4000-8000-000000000000"), "not_found", 3),
        (("status", "tic-tac-toe/nobody"), "not_found", 3),
        (("board", "chess"), "not_found", 3),
        (("replay", "999/1"), "not_found", 3),
        (("challenge", "mine", "--top-ten"), "not_found", 3),
        (("challenge", "1"), "bad_arguments", 2),
        (("submit", bad), "bad_arguments", 2),
    ):
        got, out, err = arena(*words, "--json")
        assert (got, json.loads(out)["code"]) == (status, code), (words, out, err)
        assert err.startswith("arena: ")


def test_a_version_that_fails_its_validation_fails_arena_check_with_the_same_words(
    arena: Arena, live_server: LiveServer, tmp_path: Path
) -> None:
    environment = tic_tac_toe()
    submission = upload(environment, "ada", BROKEN)
    deliver_messages()
    assert arena("login", live_server.url, "--with-token", typed=f"{token_of(submission.agent.owner)}\n")[0] == 0

    status, out, err = arena("status", "tic-tac-toe/ada", "--json")
    there = json.loads(out)
    checked = arena(
        "check", player(tmp_path / "broken", BROKEN), "--environment", "tic-tac-toe", "--sandbox", "process", "--json"
    )

    here = json.loads(checked[1])
    assert (status, checked[0]) == (3, 3), err + checked[2]
    failed = [phase["error_code"] for phase in there["phases"] if phase["state"] == "FAILED"]
    assert (here["code"], here["error"].partition("\n")[0]) == (failed[0], there["error"].partition("\n")[0])


def test_password_and_second_factor_are_asked_for(
    arena: Arena, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.user("ada")

    passwords = iter(["wrong", factories.PASSWORD])
    monkeypatch.setattr("getpass.getpass", lambda _: next(passwords))
    monkeypatch.setattr("builtins.input", lambda _: "ada@arena.example")
    assert arena("login", live_server.url)[0] == 2
    first = arena("login", live_server.url, terminal=True)
    assert first[0] == 4, first
    status, out, err = arena("login", live_server.url, terminal=True)
    assert (status, "You are ada" in out) == (0, True), out + err
    assert arena("login", live_server.url, "--forget")[0] == 0
    assert arena("login", live_server.url, "--forget")[0] == 2


def test_the_environment_of_a_zip_is_whole(arena: Arena, live_server: LiveServer, tmp_path: Path) -> None:
    row = tic_tac_toe()
    with urlopen(f"{live_server.url}/api/v1/environments/{row.slug}/folder.zip") as answer:
        names = zipfile.ZipFile(io.BytesIO(answer.read())).namelist()
    assert {"tic_tac_toe/info.yml", "tic_tac_toe/rules.py", "tic_tac_toe/render.py"} <= set(names)
    assert not any("tests/" in name for name in names)


def test_organisers_run_a_cup_and_its_participants_register(
    arena: Arena, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = tic_tac_toe("tic-tac-toe-v2")
    olga, ada, bob = (factories.user(name) for name in ("olga", "ada", "bob"))
    User.objects.filter(pk=olga.pk).update(is_staff=True, is_superuser=True)
    factories.second_factor(olga)
    factories.ready(factories.agent(ada, environment, "alpha"))
    factories.ready(factories.agent(bob, environment, "beta"))

    def as_(person: User, *words: str) -> tuple[int, str, str]:
        monkeypatch.setenv("ARENA_URL", live_server.url)
        monkeypatch.setenv("ARENA_TOKEN", token_of(person))
        return arena("organise", *words)

    opens = timezone.now() - timedelta(hours=1)
    plan = tmp_path / "plan.yml"
    plan.write_text(
        "environment: tic-tac-toe\nname: Cup\nformat: single-elimination\n"
        f"registration_opens_at: {opens.isoformat()}\nresults: HIDDEN\nis_rated: false\n"
    )
    status, out, err = as_(ada, "plan", "plan.yml")
    assert (status, "does not have the right" in err) == (3, True), err
    status, out, err = as_(olga, "plan", "plan.yml")
    assert status == 0, err
    cup = Tournament.objects.get(name="Cup")
    assert out == f"Tournament {cup.pk} is planned.\n"

    number = str(cup.pk)
    assert as_(ada, "register", number, "alpha")[:2] == (0, "It is registered.\n")
    assert as_(bob, "register", number, "tic-tac-toe/alpha")[0] == 3
    assert as_(bob, "register", number, "beta")[0] == 0
    assert as_(bob, "withdraw", number, "beta")[:2] == (0, "It is withdrawn.\n")
    assert as_(bob, "register", number, "beta")[0] == 0
    assert as_(ada, "do", number, "begin_now")[0] == 3
    status, out, err = as_(olga, "do", number, "begin_now")
    assert (status, "Cup" in out) == (0, True), err
    assert as_(olga, "do", number, "explode")[0] == 3
    assert as_(olga, "do", number)[0] == 2
    assert as_(olga, "table", "cup")[0] == 2
    factories.ready(factories.agent(olga, environment, "reference"))
    for baseline, done in (("alpha", 3), ("Reference", 0)):
        plan.write_text(f"environment: tic-tac-toe\nname: Class\nbaselines: [{baseline}]\n")
        status, out, err = as_(olga, "plan", "plan.yml")
        assert (status, "“alpha” is no agent of the site" in err) == (done, bool(done)), out + err
    assert Tournament.objects.get(name="Class").baselines.get().name == "reference"
    (tmp_path / "list.yml").write_text("- a\n")
    assert "is no plan" in as_(olga, "plan", "list.yml")[2]


def test_organisers_run_a_tournament_of_agents_that_play_alone(
    arena: Arena, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = factories.task()
    olga, ada, bob = (factories.user(name) for name in ("olga", "ada", "bob"))
    User.objects.filter(pk=olga.pk).update(is_staff=True, is_superuser=True)
    factories.second_factor(olga)
    rows = [factories.ready(factories.agent(owner, task, name)) for owner, name in ((ada, "alpha"), (bob, "beta"))]

    def as_(person: User, *words: str) -> tuple[int, str, str]:
        monkeypatch.setenv("ARENA_URL", live_server.url)
        monkeypatch.setenv("ARENA_TOKEN", token_of(person))
        return arena("organise", *words)

    opens = (timezone.now() - timedelta(hours=1)).isoformat()
    plan = "environment: cart-pole\nname: Finals\nformat: {}\nregistration_opens_at: {}\nresults: HIDDEN\n"
    (tmp_path / "plan.yml").write_text(plan.format("swiss", opens))
    status, _, err = as_(olga, "plan", "plan.yml")
    assert (status, "choose “By score”" in err) == (3, True), err
    (tmp_path / "plan.yml").write_text(plan.format("score", opens))
    assert as_(olga, "plan", "plan.yml")[0] == 0
    cup = Tournament.objects.get()
    number = str(cup.pk)
    for person, name in ((ada, "alpha"), (bob, "beta")):
        assert as_(person, "register", number, name)[0] == 0
    assert as_(olga, "do", number, "begin_now")[0] == 0
    environment_advance(task, now=timezone.now())
    score_all(cup, rows, [3.5, 2.5])

    assert as_(ada, "table", number)[0] == 3
    table = "rank,agent,version,score,score_low,score_high\n1,alpha,1,3.5,"
    assert as_(olga, "table", number)[1].startswith(table)
    again = ("do", number, "evaluate_again", "--agent", "cart-pole/alpha", "--reason", "The machine was too hot.")
    assert as_(ada, *again)[0] == 3
    status, out, err = as_(olga, *again)
    assert (status, "is evaluated again." in out) == (0, True), err
    step(cup)
    score_all(cup, rows[:1], [1.5])
    assert as_(olga, "do", number, "release")[0] == 0
    status, out, err = as_(ada, "table", number)
    assert [line.split(",")[:4] for line in out.splitlines()[1:]] == [
        ["1", "beta", "1", "2.5"],
        ["2", "alpha", "1", "1.5"],
    ]
