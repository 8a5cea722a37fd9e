from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from arena_kit.cli.main import main
from arena_kit.environment.episodes import EpisodeRecord, EvaluationRecord, write_evaluation
from arena_kit.environment.local_document import local_document, local_record
from arena_kit.environment.record_archive import ArtifactDamaged
from arena_kit.environment.records import canonical_lines
from arena_kit.environment.registry import get_spec
from arena_kit.tests.environment.playing import duel_record, episode, written

SPEC = get_spec("tic-tac-toe")
DUEL = duel_record(SPEC)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """What `arena play --output` writes."""
    path = tmp_path / "duel.json"
    path.write_text("".join(local_document(SPEC, DUEL)))
    return path


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Records as downloaded from a site."""
    path = tmp_path / "duel-12-records.zip"
    path.write_bytes(written(DUEL))
    return path


def replay(*arguments: object) -> int:
    return main(["replay", *map(str, arguments)])


def test_a_duel_played_at_home_is_read_back_whole(document: Path) -> None:
    assert list(canonical_lines(local_record(document.read_text()))) == list(canonical_lines(DUEL))
    assert "Traceback" not in document.read_text()
    assert 'thinking_seconds": [0.25' not in document.read_text()


@pytest.mark.parametrize("source", ["document", "records"])
def test_a_match_becomes_a_page_and_a_document(source: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    file = request.getfixturevalue(source)
    page, data = tmp_path / "out.html", tmp_path / "out.json"

    assert replay(file, "--match", 2, "--html", page, "--document", data) == 0

    assert "alpha v1" in page.read_text()
    made = json.loads(data.read_text())
    assert made["metadata"]["number"] == 2
    assert [agent["name"] for agent in made["metadata"]["agents"]] == ["alpha v1", "beta v2"]
    assert len(made["frames"]) == len(DUEL.matches[1].actions) + 1
    assert not list(tmp_path.glob("*.part"))


def test_options_make_the_document_smaller(document: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json.gz"

    assert replay(document, "--document", out, "--no-observations", "--no-actions", "--max-frames", 2) == 0

    made = json.loads(gzip.decompress(out.read_bytes()))
    assert (made["truncated"], len(made["frames"])) == (True, 2)
    assert made["frames"][1]["actions"] == {} == made["frames"][1]["observations"]


def test_without_a_file_to_write_a_match_is_shown_in_words(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(document, "--match", 3) == 0

    shown = capsys.readouterr().out
    assert shown.startswith("0. Start. alpha v1 has the first seat; the arena plays the opening\n")
    assert "beta v2 forfeits, alpha v1 wins" in shown


def test_json_prints_the_document_that_is_written(
    document: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(document, "--document", tmp_path / "out.json", "--json") == 0
    assert capsys.readouterr().out == (tmp_path / "out.json").read_text()
    assert replay(tmp_path / "none", "--json") == 2
    assert json.loads(capsys.readouterr().out)["code"] == "bad_arguments"


def test_a_file_wins_over_a_match_of_a_site(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "12").mkdir()
    document.rename(tmp_path / "12" / "3")
    assert replay("12/3") == 0
    assert "alpha v1 has the first seat" in capsys.readouterr().out
    for arguments in (("12/3", "--diff", "me"), ("12/4", "--match", 2), ("12/4", "--diff", "me", "--html", "x.html")):
        assert replay(*arguments) == 2
        assert capsys.readouterr().err.startswith("arena: --")


def test_an_episode_is_replayed_as_well(tmp_path: Path) -> None:
    spec = get_spec("frozen-lake-deterministic")
    actions, rewards = episode(spec, seed=3)
    record = EpisodeRecord(1, 3, tuple(actions), sum(rewards), truncated=False)  # type: ignore[arg-type]  # one kind
    with (tmp_path / "evaluation.zip").open("wb") as file:
        write_evaluation(EvaluationRecord(spec.id, spec.runtime, "walker", (record,)), file)

    assert replay(tmp_path / "evaluation.zip", "--episode", 1, "--html", tmp_path / "out.html") == 0
    assert "walker" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "has no records of matches"),
        (b'{"matches": []}', "what `arena play --output` writes"),
        (b'{"check": {"players": ["a"], "records": []}}', "has no records of matches"),
        (b"[" * 100_000, "has no records of matches"),
        (b'{"check": {"environment": "x", "seed": 1, "players": ["a", "b"], "records": [{}]}}', "Match 1"),
        (b'{"check": {"environment": "no-such-v1", "seed": 1, "players": ["a", "b"], "records": []}}', "no match 1"),
        (b"PK\x03\x04 no zip", "damaged"),
    ],
)
def test_a_file_that_cannot_be_replayed_gets_a_sentence(
    content: bytes, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "odd"
    path.write_bytes(content)

    assert replay(path, "--html", tmp_path / "out.html") == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


def test_wrong_numbers_and_places_get_a_sentence(
    document: Path, records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, sentence in (
        ((document, "--match", 7), "has matches 1 to 6; there is no match 7."),
        ((records, "--match", 7), "there is no match 7."),
        ((tmp_path / "none", "--match", 1), "it is not of the form DUEL/MATCH"),
        ((document, "--html", tmp_path / "none" / "out.html"), "does not exist."),
        ((document, "--document", tmp_path), "cannot be written: "),
    ):
        assert replay(*arguments) == 2
        assert sentence in capsys.readouterr().err


def test_a_record_that_does_not_fit_its_rules_gets_a_sentence(
    document: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(document.read_text())
    actions = data["check"]["records"][0]["actions"]
    actions[-1] = actions[0]
    document.write_text(json.dumps(data))

    assert replay(document, "--document", tmp_path / "out.json") == 2
    assert "does not fit its rules" in capsys.readouterr().err


def test_a_document_of_a_site_without_records_is_refused() -> None:
    with pytest.raises(ArtifactDamaged, match="no records of matches"):
        local_record('{"check": {"environment": "tic-tac-toe-v1", "seed": 1}, "matches": []}')


def test_why_a_match_was_lost_is_told(document: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(document, "--match", 1, "--why") == 0
    assert re.search(r"gave (something|anything) away|ended by a forfeit", capsys.readouterr().out)
    assert replay(document, "--why", "--json") == 0
    assert json.loads(capsys.readouterr().out)["why"]
    assert replay("12/3", "--why") == 2
    assert "--why is for files" in capsys.readouterr().err
