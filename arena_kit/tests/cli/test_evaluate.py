"""`python -m duel_runner evaluate`: a participant's own evaluation, in the arena's words."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from arena_kit.cli.main import main
from arena_kit.environment import registry
from arena_kit.environment.episodes import EvaluationArchive
from arena_kit.environment.loading import load

PLAYERS = {
    "good": "class Player:\n    def __init__(self, train_mode): pass\n"
    "    def start(self, state, valid_actions): return self.step(state, valid_actions, 0)\n"
    "    def step(self, state, valid_actions, prev_reward): return int(state[2] + 0.5 * state[3] > 0)\n"
    "    def end(self, state, prev_reward): print('\x1b[2Jover')\n",
    "illegal": "class Agent:\n    def act(self, observation): return 7\n",
    "broken": "raise RuntimeError('no weights')\n",
}

LOST = """
slug: lost
name: Lost
image: ant.svg
gymnasium: {id: Lost-v0}
observation: {shape: [1], dtype: float32, wire: float32}
action_count: 2
max_steps: 10
description: None.
"""


@pytest.fixture
def player(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    folder = tmp_path / "my_player"
    folder.mkdir()
    name = request.param
    (folder / ("agent.py" if name == "illegal" else "player.py")).write_text(PLAYERS[name])
    return str(folder)


BASE = ("--environment", "CartPole-v1", "--sandbox", "process", "--episodes", "5")


@pytest.mark.parametrize("player", ["good"], indirect=True)
def test_episodes_are_played_on_the_public_seeds_and_kept(
    player: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = tmp_path / "records.zip"
    assert main(["evaluate", player, *BASE, "--records", str(records), "--log", "-"]) == 0
    printed = capsys.readouterr()
    with records.open("rb") as file:
        record = EvaluationArchive(file).record()
    assert [episode.seed for episode in record.episodes] == [1, 2, 3, 4, 5]
    mean = sum(episode.score for episode in record.episodes) / 5
    assert f"Score: {mean:g} (95% interval" in printed.err
    assert re.search(rf"5 episodes, {sum(e.length for e in record.episodes)} steps", printed.err)
    # Without what a terminal would obey.
    said = [line for line in printed.out.splitlines() if not re.fullmatch(r"\[match \d+, [a-z0-9 ]+\]", line)]
    assert said == ["over"] * 5


@pytest.mark.parametrize(
    ("player", "sentence"),
    [
        ("illegal", "Episode 1: The player chose an action that is not valid here: 7"),
        ("broken", "The player could not be started"),
    ],
    indirect=["player"],
)
def test_a_player_that_fails_gets_the_arenas_sentence_and_no_score(
    player: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", player, *BASE]) == 3
    printed = capsys.readouterr().err
    assert sentence in printed
    assert "Score:" not in printed


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("evaluate", "docs", "--environment", "quarto"), "Quarto has 2 seats. Use `arena play`."),
        (("play", "docs", "docs", "--environment", "CartPole-v1"), "CartPole has one seat. Use `arena evaluate`."),
        (("evaluate", "docs", *BASE), "The folder docs has no player.py, agent.py or main.py."),
        (("evaluate", "docs", *BASE, "--records", "no/such/folder.zip"), "does not exist"),
        (("evaluate", "docs", "--environment", "Chess-v1"), "There is no environment 'Chess-v1'"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_a_sentence(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(words)) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LOST, "cannot make Lost-v0"),
        ("slug: [", "lost.yml is not YAML"),
    ],
)
def test_what_is_wrong_with_an_own_environment_is_a_sentence(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lost.yml").write_text(text)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(registry, "_own_folders", [])
            assert main(["evaluate", "docs", "--environment", "lost", "--environments", str(tmp_path)]) == 2
        assert sentence in capsys.readouterr().err
    finally:
        registry.forget()


def test_seeds_below_zero_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["evaluate", "docs", *BASE, "--first-seed=-1"])
    assert "must be a whole number of 0 or more" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["evaluate", "check"])
def test_a_missing_gymnasium_is_named_with_what_installs_it(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("arena_kit.environment.spec.load", load.__wrapped__)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "arena_kit.environment.adapters.gymnasium", raising=False)
    (tmp_path / "player.py").write_text(PLAYERS["good"])
    assert main([verb, str(tmp_path), "--environment", "cart-pole", "--sandbox", "process"]) == 2
    said = capsys.readouterr().err
    assert "CartPole needs the package gymnasium" in said
    assert "install arena-kit[gymnasium], as the page /kit/" in said
