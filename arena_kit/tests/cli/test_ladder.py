"""`arena ladder` and `arena pack`, run in this process with players in processes of their own."""

from __future__ import annotations

import json
import re
import signal
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena_kit.cli.ladder_replays import LEAST_BYTES, shown_matches
from arena_kit.cli.ladder_report import report_html
from arena_kit.cli.main import main
from arena_kit.environment.records import DuelRecord
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.tests.duels import last_valid, mixed, play
from arena_kit.tests.environment.playing import match_record
from arena_kit.tests.playing import GOOD, player

NAMES = ("first<b>", "last", "raises")


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    folder = tmp_path / "agents"
    sources = (GOOD, player(step="return valid_actions[-1]"), player(step="raise RuntimeError('no')"))
    for name, source in zip(NAMES, sources, strict=True):
        (folder / name).mkdir(parents=True)
        (folder / name / "player.py").write_text(source)
    (folder / "notes.txt").write_text("no agent")
    return folder


@pytest.mark.slow
def test_a_folder_of_agents_becomes_one_report(
    agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.html"
    words = ["ladder", str(agents), "--environment", "tic-tac-toe", "--matches", "4", "--sandbox", "process"]
    status = main([*words, "--output", str(report), "--json"])
    said = capsys.readouterr()
    rows = json.loads(said.out)["rows"]

    assert status == 3, said.err  # an agent forfeits
    assert {row["name"] for row in rows} == set(NAMES)
    assert rows[-1]["name"] == "raises"
    assert all(row["low"] < row["rating"] < row["high"] for row in rows)
    assert sum(row["points"] for row in rows) == 12
    html = report.read_text()
    assert "first&lt;b&gt;" in html
    assert "first<b>" not in html
    # Duels share their openings, so an agent that forfeits at once has lost the same matches to both others.
    assert len(set(re.findall(r"Match (\d+): raises forfeits", html))) == 1


def ladder_of(agents: Path, environment: str, report: Path, monkeypatch: pytest.MonkeyPatch) -> list[DuelRecord]:
    """Play a ladder with players that need no process; return the records of its duels."""
    records = []

    def played(spec: EnvironmentSpec, _: object, *, names: tuple[str, str], seed: int, match_count: int, **__: object):  # type: ignore[no-untyped-def]
        duel = play(mixed, last_valid, spec=spec, seed=seed, matches=match_count)
        records.append(replace(duel.record, players=names))
        return replace(duel, record=records[-1])

    monkeypatch.setattr("arena_kit.cli.ladder.run_duel", played)
    words = ["ladder", str(agents), "--environment", environment, "--matches", "6", "--sandbox", "process", "--quiet"]
    assert main([*words, "--output", str(report)]) == 0
    return records


def test_pairs_of_a_ladder_share_their_openings_as_in_an_edition_of_a_site(
    agents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duels = ladder_of(agents, "connect-four", tmp_path / "report.html", monkeypatch)
    openings = [[match.actions[: match.opening_count] for match in duel.matches] for duel in duels]

    assert len(duels) == 3
    assert openings[0] == openings[1] == openings[2]
    assert openings[0][0::2] == openings[0][1::2]
    assert len(set(openings[0])) == 3


@pytest.mark.slow
def test_pairs_of_a_ladder_without_openings_have_chance_of_their_own(
    agents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duels = ladder_of(agents, "pong", tmp_path / "report.html", monkeypatch)

    # Pong has chance, so both matches of a pair have their own, too.
    assert len({match.seed for duel in duels for match in duel.matches}) == 18


def test_what_is_no_ladder_is_a_sentence(agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (
        [str(tmp_path / "nothing"), "--environment", "tic-tac-toe"],
        [str(agents / NAMES[0]), "--environment", "tic-tac-toe"],
        [str(agents), "--environment", "CartPole-v1"],
        [str(agents), "--environment", "tic-tac-toe", "--matches", "3"],
        [str(agents), "--environment", "chess"],
    ):
        assert main(["ladder", *words, "--sandbox", "process"]) == 2
        assert capsys.readouterr().err.startswith("arena: ")


def test_two_agents_of_one_name_are_refused_before_anything_is_played(
    agents: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(agents / "last.zip", "w") as archive:
        archive.writestr("player.py", GOOD)
    assert main(["ladder", str(agents), "--environment", "tic-tac-toe", "--sandbox", "process"]) == 2
    said = capsys.readouterr().err
    assert f"{agents / 'last'} and {agents / 'last.zip'} would have the same name" in said


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_played(
    agents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arena_kit.cli.ladder._play_all", lambda *_: pytest.fail("it was played"))
    words = ["ladder", str(agents), "--environment", "tic-tac-toe", "--sandbox", "process", "--output"]
    for output, why in ((agents, "it is a folder"), (tmp_path / "none" / "r.html", "does not exist")):
        assert main([*words, str(output)]) == 2
        assert why in capsys.readouterr().err


def test_the_report_escapes_what_players_say() -> None:
    spec = get_spec("tic-tac-toe")
    evil = "</template></script><script>alert(1)</script>\x1b[2J"
    match = replace(match_record(spec, 1, seed=3, forfeits=0), error=evil)
    for record in (match, replace(match, actions=(0, 0, 0))):
        html = report_html(spec, [], [DuelRecord(spec.id, 3, (evil, "b"), (record,))])
        assert html.count("<script") == html.count("</script>") == (3 if record is match else 2)
        assert html.count("</template>") == 1
        assert "\x1b" not in html
        assert ("does not fit its rules" in html) is (record is not match)


def record_of(spec: EnvironmentSpec, players: tuple[str, str], count: int) -> DuelRecord:
    matches = tuple(match_record(spec, number, seed=number) for number in range(1, count))
    return DuelRecord(spec.id, 1, players, (*matches, match_record(spec, count, seed=count, forfeits=1)))


def test_a_report_shows_every_way_in_which_a_duel_ended() -> None:
    spec = get_spec("tic-tac-toe")
    record = record_of(spec, ("a", "b"), 40)
    shown = [one.match for one in shown_matches(["a", "b"], [record])]

    assert {(match.outcome, match.fault) for match in shown} == {
        (match.outcome, match.fault) for match in record.matches
    }
    assert len(shown) == 4
    assert [match.number for match in shown] == sorted(match.number for match in shown)
    assert record.matches[-1] in shown


def test_a_report_of_many_duels_keeps_the_rarest_match_of_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = get_spec("tic-tac-toe")
    names = ["a", "b", "c"]
    records = [record_of(spec, pair, 40) for pair in (("b", "c"), ("a", "c"), ("a", "b"))]
    monkeypatch.setattr("arena_kit.cli.ladder_replays.MAX_BYTES", 2 * LEAST_BYTES)

    shown = shown_matches(names, records)

    assert [(one.record.players, one.match.number) for one in shown] == [(("a", "b"), 40), (("a", "c"), 40)]


def test_a_report_is_no_larger_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = get_spec("connect-four")
    record = record_of(spec, ("a", "b"), 12)
    whole = report_html(spec, [], [record])
    monkeypatch.setattr("arena_kit.cli.ladder_replays.LEAST_BYTES", 1)
    monkeypatch.setattr("arena_kit.cli.ladder_replays.MAX_BYTES", limit := 80_000)
    thin = report_html(spec, [], [record])

    assert len(thin.encode()) < limit + 40_000 < len(whole.encode())
    assert "This file shows" in thin
    assert "This file shows" not in whole


def test_a_packed_folder_is_what_a_site_takes(
    agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (agents / "last" / ".secret").write_text("x")
    assert main(["pack", str(agents / "last"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["file"] == "last.zip"
    assert zipfile.ZipFile(tmp_path / "last.zip").namelist() == ["player.py"]
    assert main(["pack", str(agents), "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["code"] == "entry_point_in_folder"
    assert main(["pack", str(agents / "nothing")]) == 2
    capsys.readouterr()
    assert main(["pack", str(agents / "last"), "--output", "/proc/x.zip"]) == 2
    assert capsys.readouterr().err.startswith("arena: /proc/x.zip cannot be written: ")
