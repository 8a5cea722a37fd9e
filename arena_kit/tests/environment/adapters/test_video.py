"""Recordings of episodes: their files, their bounds, and what happens on a machine that cannot draw."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import av
import jsonschema
import pytest

from arena_kit.environment.adapters import video
from arena_kit.environment.adapters.encoding import STILL_WIDTH, Bounds
from arena_kit.environment.adapters.video import (
    CannotRecord,
    EpisodeToRecord,
    RecordedFiles,
    record,
    record_apart,
)
from arena_kit.environment.registry import get_spec
from arena_kit.environment.replay import ReplayMismatch
from arena_kit.environment.replay_file.document import SCHEMA
from arena_kit.environment.replay_file.facts import ReplayAgent, ReplayFacts
from arena_kit.tests.environment.playing import episode, installed

VALID = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
PATIENCE = 900.0
"""Seconds that a recording may take; it runs at low priority, so this is generous."""


@pytest.fixture(autouse=True)
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def job(slug: str, most: int | None = None, **bounds: Any) -> EpisodeToRecord:
    actions, rewards = episode(installed(get_spec(slug)), seed=2, most=most)
    return EpisodeToRecord(slug, 2, tuple(actions), list(accumulate(rewards))[-1], bounds=Bounds(**bounds))  # type: ignore[arg-type]


def decoded(folder: Path) -> list[Any]:
    """Return every frame of a video as an array."""
    with av.open(str(folder / "episode.webm")) as container:
        assert container.streams.video[0].codec_context.name == "vp9"
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def read(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def test_a_video_a_still_and_the_returns_are_made(tmp_path: Path) -> None:
    played = job("cart-pole")
    made = record(played, tmp_path)
    facts = read(tmp_path, "episode.json")

    assert made == RecordedFiles(("episode.json", "episode.webm", "still.webp"))
    assert facts["rewards"] == [1.0] * len(played.actions)
    assert facts["returns"][-1] == played.score
    shown = facts["video"]
    # The environment has 50 frames per second, so every second one is shown, and the last.
    assert (shown["stride"], shown["fps"], shown["cut"]) == (2, 25.0, False)
    frames = decoded(tmp_path)
    assert len(frames) == shown["frames"] == len(range(0, len(played.actions) + 1, 2)) + len(played.actions) % 2
    assert frames[0].shape == (shown["height"], shown["width"], 3) == (400, 600, 3)
    assert (frames[0] != frames[-1]).any()
    with av.open(str(tmp_path / "still.webp")) as still:
        assert next(still.decode(video=0)).width == STILL_WIDTH


@pytest.mark.parametrize("slug", ["cart-pole", "frozen-lake", "pendulum"])
def test_replay_files_hold_every_state_as_those_of_matches_do(slug: str, tmp_path: Path) -> None:
    facts = ReplayFacts("evaluation-5-episode-3", (ReplayAgent("7", "anna v1", 1),), "2026-11-22T12:00:00+00:00")
    played = replace(job(slug), number=3, facts=facts)

    made = video._write_replay(
        get_spec(slug), EpisodeToRecord.from_json(played.to_json()), [played.score or 0.0], tmp_path
    )

    assert made == ["replay.json.gz", "replay.html.gz"]
    document = json.loads(gzip.decompress((tmp_path / "replay.json.gz").read_bytes()))
    VALID.validate(document)
    assert document["metadata"]["match_id"] == facts.match_id
    assert document["metadata"]["number"] == 3
    assert document["metadata"]["total_steps"] == len(played.actions)
    page = gzip.decompress((tmp_path / "replay.html.gz").read_bytes()).decode()
    assert "anna v1" in page
    assert f"#ply={len(played.actions)}" in page


def test_text_environments_also_get_a_text_replay(tmp_path: Path) -> None:
    lake = job("frozen-lake")
    assert record(lake, tmp_path).files == ("episode.json", "text.json", "episode.webm", "still.webp")
    text = read(tmp_path, "text.json")
    assert text["frames"][0] == "@FFF\nFHFH\nFFFH\nHFFG"
    assert {len(column) for column in text.values()} == {len(lake.actions) + 1}
    assert text["actions"][0] is None
    assert set(text["actions"][1:]) <= {"left", "down", "right", "up"}
    assert text["returns"][-1] == sum(text["rewards"]) == lake.score

    cards = job("blackjack")
    record(cards, tmp_path)
    assert read(tmp_path, "text.json")["frames"][0].startswith("your sum: ")


def test_long_episodes_leave_frames_out_and_keep_their_speed(tmp_path: Path) -> None:
    played = job("mountain-car", frames=50)
    record(played, tmp_path)
    shown = read(tmp_path, "episode.json")["video"]
    assert (len(played.actions), shown["stride"], shown["frames"], shown["fps"]) == (200, 5, 41, 6.0)
    assert len(decoded(tmp_path)) == 41
    assert len(read(tmp_path, "episode.json")["rewards"]) == 200


def test_a_video_is_no_wider_than_allowed_and_keeps_its_proportions(tmp_path: Path) -> None:
    record(job("cart-pole", width=121), tmp_path)
    assert decoded(tmp_path)[0].shape == (80, 120, 3)


def test_a_video_that_grows_too_large_ends_early(tmp_path: Path) -> None:
    record(job("pendulum", video_bytes=20_000), tmp_path)
    shown = read(tmp_path, "episode.json")["video"]
    assert shown["cut"]
    assert 0 < shown["frames"] == len(decoded(tmp_path)) < 201
    assert (tmp_path / "episode.webm").stat().st_size < 40_000


def test_a_video_that_takes_too_long_ends_early(tmp_path: Path) -> None:
    record(job("pendulum", seconds=1e-9), tmp_path)
    shown = read(tmp_path, "episode.json")["video"]
    # The bounds allow the first and the last state, and the time runs out after the first.
    assert (shown["stride"], shown["cut"]) == (200, True)


@pytest.mark.parametrize(
    "slug",
    [
        "lunar-lander",
        "taxi",
        pytest.param("bipedal-walker", marks=pytest.mark.nightly),
        pytest.param("hopper", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.slow
def test_an_episode_recorded_apart_gives_its_score_again(slug: str, tmp_path: Path) -> None:
    """Drawing does not change the play, with Box2D, MuJoCo (with this machine's GL) and a text environment."""
    made = record_apart(job(slug, most=40, frames=5), tmp_path, seconds=PATIENCE)
    assert {"episode.webm", "still.webp"} <= set(made.files), made.no_video
    assert len(decoded(tmp_path)) == read(tmp_path, "episode.json")["video"]["frames"] <= 6


def test_drawing_does_not_change_the_play() -> None:
    from arena_kit.environment.adapters.gymnasium import GymnasiumEnvironment

    spec = installed(get_spec("lunar-lander"))
    actions, rewards = episode(spec, seed=4)
    environment = GymnasiumEnvironment(spec, "rgb_array")
    environment.reset(4)
    again: list[float] = []
    for action in actions:
        again += environment.step({0: action})
        environment.render()
    environment.close()
    assert again == rewards


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"score": 3.0}, "gives the score .* when it is played again"),
        ({"actions": (0, 7)}, "does not fit cart-pole: 7 is not an action"),
        ({"actions": (0,) * 40}, "does not fit cart-pole: The episode is over"),
    ],
)
def test_an_episode_that_is_not_the_recorded_one_is_refused(
    change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    wrong = replace(job("cart-pole"), **change)
    with pytest.raises(ReplayMismatch, match=complaint):
        record(wrong, tmp_path)


@pytest.mark.slow
def test_the_other_process_refuses_an_episode_that_is_not_the_recorded_one(tmp_path: Path) -> None:
    wrong = replace(job("cart-pole"), score=3.0)
    with pytest.raises(ReplayMismatch, match="gives the score .* when it is played again"):
        record_apart(wrong, tmp_path, seconds=PATIENCE)


def test_a_score_is_added_up_as_the_referee_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = get_spec("pendulum")
    actions, rewards = episode(spec, seed=2)
    score = 0.0
    for reward in rewards:
        score += reward
    assert score != math.fsum(rewards)  # otherwise this would not test anything
    # The result of `sum` since Python 3.12.
    monkeypatch.setattr(video, "sum", lambda values, start=0.0: math.fsum(values), raising=False)
    record(EpisodeToRecord("pendulum", 2, tuple(actions), score, bounds=Bounds(frames=2)), tmp_path)  # type: ignore[arg-type]
    assert read(tmp_path, "episode.json")["returns"][-1] == score


def test_without_a_way_to_draw_the_rest_is_still_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("Failed to initialize OpenGL")

    monkeypatch.setattr(video, "picture", fail)
    made = record(job("frozen-lake"), tmp_path)
    assert made == RecordedFiles(
        ("episode.json", "text.json"), "Nothing can be drawn here: RuntimeError: Failed to initialize OpenGL"
    )
    assert read(tmp_path, "episode.json")["video"] is None


def test_a_job_survives_its_way_to_the_other_process() -> None:
    numbers, arrays = (
        EpisodeToRecord("cart-pole", 1, (0, 1), 2.0, ("a",), Bounds(frames=3)),
        EpisodeToRecord("pendulum", 1, (b"\0\1", b"ab")),
    )
    assert [EpisodeToRecord.from_json(one.to_json()) for one in (numbers, arrays)] == [numbers, arrays]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"actions": [null]}', '{"actions": ["zz"]}', '{"actions": [], "x": 1}']
)
def test_a_job_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(CannotRecord, match="The job cannot be read"):
        EpisodeToRecord.from_json(text)


@pytest.mark.slow
def test_errors_of_the_other_process_arrive_as_sentences(tmp_path: Path) -> None:
    with pytest.raises(CannotRecord, match="There is no environment 'nowhere'"):
        record_apart(EpisodeToRecord("nowhere", 0, ()), tmp_path)
    with pytest.raises(CannotRecord, match="Recording ended with code 1: "):
        record_apart(job("cart-pole"), tmp_path / "missing")
    with pytest.raises(CannotRecord, match="took too long"):
        record_apart(job("cart-pole"), tmp_path, seconds=0.01)


def test_drawing_ends_when_it_is_not_wanted_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception):
        pass

    def watch() -> None:
        raise Stop

    monkeypatch.setattr(video, "LOOK_SECONDS", 0.01)
    with pytest.raises(Stop):
        record_apart(job("cart-pole", most=40), tmp_path, on_look=watch)
