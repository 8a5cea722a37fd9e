"""What a recheck of an evaluation's record finds, and what it cannot find."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena_kit.cli.recheck import MISMATCH, NOT_CHECKED, VERIFIED, main
from arena_kit.environment.episodes import (
    EvaluationArchive,
    EvaluationRecord,
    evaluation_sha256,
    seeds_sha256,
    write_evaluation,
)
from arena_kit.environment.registry import get_spec
from arena_kit.environment.spec import EnvironmentSpec, GymnasiumSource
from arena_kit.referee.recheck.evaluations import compare_episodes, recheck_evaluation
from arena_kit.referee.recheck.mismatch import CannotCheck
from arena_kit.tests.corridors import CORRIDOR, SEEDS, SLIDER, evaluate, sliding, wandering
from arena_kit.tests.environment.playing import TASKS, installed
from arena_kit.tests.episodes import Change, evaluation_record, with_episode
from arena_kit.tests.fake import Answerer

SPEC = get_spec("frozen-lake")
LIST = (11, 5, 2**47, 7)
Forge = Callable[[EvaluationRecord], EvaluationRecord]


@pytest.fixture(scope="module")
def record() -> EvaluationRecord:
    return evaluation_record(SPEC, LIST)


def found(record: EvaluationRecord, **known: Any) -> list[str]:
    return [str(mismatch) for mismatch in recheck_evaluation(SPEC, record, **known)]


@pytest.mark.slow
@pytest.mark.parametrize("spec", TASKS, ids=lambda spec: str(spec.id))
def test_honest_episodes_of_every_shipped_environment_verify(spec: EnvironmentSpec) -> None:
    installed(spec)
    seeds = (3, 2**40, 3)
    record = evaluation_record(spec, seeds)
    file = io.BytesIO()
    write_evaluation(record, file)

    kept = EvaluationArchive(file).record()

    assert recheck_evaluation(spec, kept, seeds=seeds, sha256=evaluation_sha256(record)) == []
    assert [episode.seed for episode in kept.episodes] == list(seeds)


@pytest.mark.parametrize(("spec", "player"), [(CORRIDOR, wandering), (SLIDER, sliding)], ids=["numbers", "arrays"])
def test_what_the_referee_records_of_many_episodes_at_once_verifies(spec: EnvironmentSpec, player: Answerer) -> None:
    record = evaluate(player, spec=spec, parallel=8).record

    assert recheck_evaluation(spec, record, seeds=SEEDS, sha256=evaluation_sha256(record)) == []


def without(number: int) -> Forge:
    return lambda record: replace(record, episodes=tuple(one for one in record.episodes if one.number != number))


def with_change(number: int, change: Change) -> Forge:
    return lambda record: with_episode(record, number, change)


FORGED: dict[str, tuple[Forge, str]] = {
    "a better score": (with_change(2, lambda e: {"score": e.score + 1}), "Episode 2: its score is 1.0, not 0.0."),
    "a score better by the last bit": (
        with_change(1, lambda e: {"score": math.nextafter(e.score, 9)}),
        "Episode 1: its score is 5e-324, not 0.0.",
    ),
    "an action of none": (
        with_change(3, lambda e: {"actions": (*e.actions[:-1], 4)}),
        "Episode 3: step {length} is not possible: 4 is not an action. The actions are 0 to 3.",
    ),
    "an action of another form": (
        with_change(3, lambda e: {"actions": (b"\x00",) * e.length}),
        "Episode 3: step 1 is not possible: An array of 1 bytes is not an action",
    ),
    "an action left out": (
        with_change(4, lambda e: {"actions": e.actions[:-1]}),
        "Episode 4: it stops after {less} steps, before its end.",
    ),
    "an action too many": (
        with_change(4, lambda e: {"actions": (*e.actions, 0)}),
        "Episode 4: step {more} is not possible: The episode is over.",
    ),
    "no action at all": (with_change(4, lambda _: {"actions": ()}), "Episode 4: it stops after 0 steps, before"),
    "another end": (
        with_change(1, lambda e: {"truncated": not e.truncated}),
        "Episode 1: it is recorded as ended by the limit of steps, but was ended by the task.",
    ),
    "another seed": (with_change(2, lambda _: {"seed": 6}), "Episode 2: its seed is not the one at its place"),
    "no seed": (with_change(2, lambda _: {"seed": -6}), "Episode 2: its seed is below 0."),
    "a lucky seed twice": (
        lambda record: replace(record, episodes=(record.episodes[0], replace(record.episodes[0], number=2))),
        "Episode 2: its seed is not the one at its place in the list.",
    ),
    "an episode missing": (without(3), "Episode 3: it is missing."),
    "the last missing": (without(4), "Episode 4: it is missing."),
    "an episode too many": (
        lambda record: replace(record, episodes=(*record.episodes, replace(record.episodes[0], number=5))),
        "Episode 5: it is not one of the 4 that were to be played.",
    ),
    "an episode twice": (
        lambda record: replace(record, episodes=(*record.episodes, record.episodes[3])),
        "Episode 4: it is recorded more than once.",
    ),
    "another order": (
        lambda record: replace(record, episodes=record.episodes[::-1]),
        "The episodes are not in the order of their numbers.",
    ),
    "seeds exchanged": (
        lambda record: with_episode(with_episode(record, 1, lambda _: {"seed": 5}), 2, lambda _: {"seed": 11}),
        "Episode 1: its seed is not the one at its place in the list.",
    ),
    "other rules": (lambda record: replace(record, environment="taxi-v1"), "The record is of taxi-v1, not of frozen-"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_record_is_found(what: str, record: EvaluationRecord) -> None:
    forge, sentence = FORGED[what]
    length = record.episodes[int(sentence[8]) - 1].length if sentence.startswith("Episode 3: step") else 0
    last = record.episodes[3].length
    sentence = sentence.format(length=length, less=last - 1, more=last + 1)

    forged = forge(record)

    lines = found(forged, seeds=LIST)
    assert any(line.startswith(sentence) for line in lines), lines
    assert found(forged, sha256=evaluation_sha256(record))[0 if "rules" not in what else 1].startswith("The record's h")
    # Verdicts are public.
    assert not any(str(2**47) in line for line in lines)


def test_a_possible_but_other_play_is_found_by_the_hash(record: EvaluationRecord) -> None:
    other = evaluation_record(SPEC, LIST, chance=1)

    assert other != record
    assert found(other, seeds=LIST) == []
    (line,) = found(other, seeds=LIST, sha256=evaluation_sha256(record))
    assert line == f"The record's hash is {evaluation_sha256(other)}, not {evaluation_sha256(record)}."


def test_seeds_are_known_by_their_hash_alone(record: EvaluationRecord) -> None:
    assert found(record, sha256_of_seeds=seeds_sha256(LIST)) == []
    (line,) = found(record, sha256_of_seeds=seeds_sha256(sorted(LIST)))
    assert line == f"The hash of its seeds is {seeds_sha256(LIST)}, not {seeds_sha256(sorted(LIST))}."


def test_an_array_that_was_changed_is_found() -> None:
    spec = get_spec("pendulum")
    record = evaluation_record(spec, (1, 2))
    length = record.episodes[1].length

    still = with_episode(record, 2, lambda _: {"actions": (bytes(4),) * length})
    broken = with_episode(record, 2, lambda e: {"actions": (*e.actions[:9], b"\x00\x00\xc0\x7f", *e.actions[10:])})
    longer = with_episode(record, 2, lambda e: {"actions": (bytes(8), *e.actions[1:])})

    assert "its score is -" in str(*recheck_evaluation(spec, still))
    assert "step 10 is not possible: The action [nan]" in str(*recheck_evaluation(spec, broken))
    assert "step 1 is not possible: An array of 8 bytes" in str(*recheck_evaluation(spec, longer))


# --- What cannot be checked here ------------------------------------------------------------------------------


def test_other_versions_cannot_be_checked_but_what_is_wrong_with_the_record_is_said(record: EvaluationRecord) -> None:
    older = replace(record, runtime="gymnasium 1.3.0, numpy 2.0.0")

    with pytest.raises(CannotCheck, match="played with gymnasium 1.3.0, numpy 2.0.0, but this machine has gymnasium "):
        recheck_evaluation(SPEC, older, seeds=LIST)
    assert found(without(3)(older), seeds=LIST) == ["Episode 3: it is missing."]
    # Otherwise a forged record could name other versions to escape the check.
    assert found(older, sha256=evaluation_sha256(record))[0].startswith("The record's hash is ")


def test_an_environment_whose_package_is_missing_cannot_be_checked(record: EvaluationRecord) -> None:
    absent = replace(SPEC, gymnasium=GymnasiumSource("no_such_module:Nothing-v0", extra="nothing"))

    with pytest.raises(CannotCheck, match="needs packages that are not installed here"):
        recheck_evaluation(absent, record, seeds=LIST)


def test_an_environment_that_is_not_deterministic_cannot_be_checked(record: EvaluationRecord) -> None:
    with pytest.raises(CannotCheck, match="frozen-lake-v1 is not deterministic"):
        recheck_evaluation(replace(SPEC, deterministic=False), record, seeds=LIST)


# --- Playing again --------------------------------------------------------------------------------------------


def test_playing_again_is_compared_episode_by_episode(record: EvaluationRecord) -> None:
    again = with_episode(without(2)(record), 3, lambda e: {"actions": (*e.actions[:1], 9)})

    assert compare_episodes(record, record) == []
    assert [str(difference) for difference in compare_episodes(record, again)] == [
        "Episode 2: it was not finished this time.",
        "Episode 3: other actions from step 2 on.",
    ]


# --- At home --------------------------------------------------------------------------------------------------


@pytest.fixture
def path(record: EvaluationRecord, tmp_path: Path) -> Path:
    return written(record, tmp_path)


def written(record: EvaluationRecord, folder: Path) -> Path:
    path = folder / "evaluation-1-records.zip"
    with path.open("wb") as file:
        write_evaluation(record, file)
    return path


def test_downloaded_episodes_can_be_checked_without_a_site(record: EvaluationRecord, path: Path) -> None:
    hashes = ["--sha256", evaluation_sha256(record), "--seeds-sha256", seeds_sha256(LIST)]
    command = [sys.executable, "-m", "arena_kit", "recheck", str(path), *hashes]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (VERIFIED, "")
    assert done.stdout == (
        f"frozen-lake-v1, 4 episodes, mean score 0, sha256 {evaluation_sha256(record)}\n"
        "The record verifies: seeds, actions, lengths, ends and scores of every episode.\n"
    )


def test_downloaded_episodes_that_do_not_verify_say_why(
    record: EvaluationRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(with_episode(record, 2, lambda _: {"score": 1.0}), tmp_path)

    assert main([str(path), "--seeds-sha256", "0" * 64]) == MISMATCH
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("The hash of its seeds is ")
    assert lines[1] == "Episode 2: its score is 1.0, not 0.0."
    assert lines[-1] == "The record does not verify."


def test_downloaded_episodes_that_were_played_with_other_versions_are_not_called_wrong(
    record: EvaluationRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(replace(record, runtime="gymnasium 0.1"), tmp_path)

    assert main([str(path)]) == NOT_CHECKED
    assert "It was played with gymnasium 0.1" in capsys.readouterr().err


def test_what_a_record_says_reaches_a_terminal_as_plain_text(
    record: EvaluationRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(replace(record, runtime="gymnasium \x1b[2J\ud800"), tmp_path)

    assert main([str(path)]) == NOT_CHECKED
    assert "It was played with gymnasium [2J, but this" in capsys.readouterr().err


def test_scores_beyond_all_bounds_are_a_mismatch(
    record: EvaluationRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    huge = with_episode(with_episode(record, 1, lambda _: {"score": 1e308}), 2, lambda _: {"score": 1e308})

    assert main([str(written(huge, tmp_path))]) == MISMATCH
    assert "Episode 1: its score is 1e+308, not 0.0." in capsys.readouterr().out


def test_a_length_that_is_not_that_of_the_actions_is_damage(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["evaluation.json"])
    header["lengths"][1] += 1
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (parts | {"evaluation.json": json.dumps(header).encode()}).items():
            archive.writestr(name, data)

    assert main([str(path)]) == NOT_CHECKED
    assert "Episode 2 of this evaluation's records is damaged." in capsys.readouterr().err


@pytest.mark.slow
def test_own_environments_are_checked_with_the_folder_that_describes_them(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    text = (Path(__file__).parents[3] / "environments" / "gymnasium" / "frozen-lake.yml").read_text()
    (folder / "own-lake.yml").write_text(text.replace("slug: frozen-lake", "slug: own-lake\nenv_id: OwnLake-v1"))
    path = written(replace(evaluation_record(SPEC, LIST), environment="own-lake-v1"), tmp_path)
    command = [sys.executable, "-m", "arena_kit", "recheck", str(path)]

    unknown = subprocess.run(command, capture_output=True, text=True, check=False)
    known = subprocess.run([*command, "--environments", str(folder)], capture_output=True, text=True, check=False)

    assert (unknown.returncode, "There is no environment 'own-lake-v1'" in unknown.stderr) == (NOT_CHECKED, True)
    assert (known.returncode, known.stderr) == (VERIFIED, "")
