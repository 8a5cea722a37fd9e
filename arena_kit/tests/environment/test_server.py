"""Environments from outside play in a server of their own, as they would in this process."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena_kit.environment.adapters.classic.environment import frame_to_svg
from arena_kit.environment.conformance import check_environment
from arena_kit.environment.info import read_info
from arena_kit.environment.openings import begin, opening_of
from arena_kit.environment.outside.learning import learn
from arena_kit.environment.protocol import BrokenEnvironment, IllegalAction, MatchOver, Observation
from arena_kit.environment.registry import get_spec
from arena_kit.environment.server import connection
from arena_kit.environment.server.client import (
    RemoteEnvironment,
    begin_ahead,
    close_servers,
    draw,
    server_of,
    step_ahead,
)
from arena_kit.environment.server.frames import (
    Drawing,
    RowStatus,
    ServerKind,
    SteppedMatch,
    pack_resets,
    pack_states,
    pack_steps,
    unpack_resets,
    unpack_states,
    unpack_steps,
)
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.frames import BadFrame
from arena_kit.referee.faults import PlayerFault
from arena_kit.referee.recheck.duels import recheck_record
from arena_kit.tests.corridors import at, evaluate, floats, sliding
from arena_kit.tests.duels import play
from arena_kit.tests.environment.outside import FOLDERS, NAMES, classic, copied
from arena_kit.tests.environment.own import described, own_folder


@pytest.fixture(autouse=True)
def no_server_is_left() -> Iterator[None]:
    yield
    close_servers()


class Overheard:
    """A wire that notes what is sent."""

    def __init__(self, wire: socket.socket, told: list[bytes]) -> None:
        self._wire, self._told = wire, told

    def sendall(self, frame: bytes) -> None:
        self._told.append(frame)
        self._wire.sendall(frame)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wire, name)


def remote(path: Path) -> EnvironmentSpec:
    spec = read_info(path)
    if spec.classic is not None:
        spec = read_info(path, learn(path.parent, max_steps=1000))
    return replace(spec, is_outside=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_match_in_a_server_is_the_match_in_this_process(name: str) -> None:
    spec, rng = remote(FOLDERS / name / "info.yml"), random.Random(0)
    near, far = spec.make_here(), spec.make()
    assert isinstance(far, RemoteEnvironment)
    for seed in range(3):
        near.reset(seed)
        far.reset(seed)
        while near.to_move:
            assert far.to_move == near.to_move
            (seat,) = near.to_move
            assert list(far.observe(seat).valid_actions) == list(near.observe(seat).valid_actions)
            assert (far.frame(), far.text(), far.truncated) == (near.frame(), near.text(), near.truncated)
            action = rng.choice(near.observe(seat).valid_actions)
            assert far.step({seat: action}) == near.step({seat: action})
        assert far.to_move == ()
        with pytest.raises(MatchOver):
            far.step({0: 0})
    assert spec.render(far.frame()) == spec.render_here(near.frame())


def test_a_server_keeps_every_promise_of_the_protocol() -> None:
    check_environment(remote(FOLDERS / "nim" / "info.yml"), matches=2, with_picture=False)


def test_steps_of_many_matches_are_played_with_one_frame() -> None:
    spec = remote(FOLDERS / "nim" / "info.yml")
    games = [spec.make() for _ in range(5)]
    for game in games:
        game.reset(0)
    step_ahead((game, {0: number % 3}) for number, game in enumerate(games))
    before = games[1].observe(0)
    assert list(before.observation) == [10], "nothing has happened yet"
    os.kill(server_of(spec).pid, signal.SIGKILL)
    for number, game in enumerate(games):
        assert game.step({0: number % 3}) == (0.0, 0.0)
        assert list(game.observe(1).observation) == [9 - number % 3]


def test_matches_begin_with_their_openings_by_one_frame() -> None:
    spec = replace(get_spec("connect-four"), is_outside=True)
    beginnings = [(seed, opening_of(get_spec("connect-four"), seed)) for seed in range(5)]
    games = [spec.make() for _ in beginnings]
    begin_ahead(zip(games, beginnings, strict=True))
    os.kill(server_of(spec).pid, signal.SIGKILL)
    for game, (seed, opening) in zip(games, beginnings, strict=True):
        near = spec.make_here()
        assert begin(game, seed, opening) == begin(near, seed, opening) == (0.0, 0.0)
        assert game.to_move == near.to_move
        seat = near.to_move[0]
        assert list(game.observe(seat).valid_actions) == list(near.observe(seat).valid_actions)


def test_an_opening_that_does_not_fit_the_rules_begins_no_match() -> None:
    game = replace(get_spec("connect-four"), is_outside=True).make()
    with pytest.raises(IllegalAction):
        begin(game, 0, (0,) * 7)


@pytest.mark.slow
def test_large_observations_of_many_matches_come_in_several_frames(tmp_path: Path) -> None:
    info = copied("nim", tmp_path)
    info.write_text(info.read_text().replace("shape: [1]", "shape: [1048576]"))
    code = info.with_name("environment.py")
    code.write_text(code.read_text().replace("[self._stones],", "bytes([self._stones]) * 1048576,"))
    games = [remote(info).make() for _ in range(70)]
    begin_ahead((game, (0, ())) for game in games)
    for game in games:
        game.reset(0)
    step_ahead((game, {0: number % 3}) for number, game in enumerate(games))
    for number, game in enumerate(games):
        game.step({0: number % 3})
        assert game.observe(1).observation[:2] == bytes([9 - number % 3] * 2)


def test_an_illegal_action_stays_illegal_and_changes_nothing() -> None:
    game = remote(FOLDERS / "nim" / "info.yml").make()
    game.reset(0)
    for actions in ({0: 3}, {0: -1}, {0: 1 << 80}, {1: 0}, {0: b"x"}, {}):
        with pytest.raises(IllegalAction):
            game.step(actions)
    assert game.text() == "10 stones are left."


SLIDING = """
slug: slider
version: 1
name: Slider
image: slider.svg
entry_point: rules:Slider
renderer: rules:Slider
seats: 1
observation: {shape: [2], dtype: float64, wire: float64}
action: {shape: [2], low: [-1], high: [1]}
forfeit_score: 0
max_steps: 40
episodes_per_evaluation: 20
matches_per_validation: 3
description: Hit the point.
"""


def test_a_bad_array_is_the_fault_of_its_player_also_in_a_server(tmp_path: Path) -> None:
    (tmp_path / "info.yml").write_text(SLIDING)
    (tmp_path / "rules.py").write_text("from arena_kit.tests.corridors import Slider\n")
    bad = at(2, 3, lambda asked: floats(asked, float("nan"), 0.0), else_=sliding)

    failure = evaluate(bad, spec=remote(tmp_path / "info.yml")).failure

    assert failure is not None
    assert (failure.fault, failure.episode) == (PlayerFault.ILLEGAL_ACTION, 2)


def test_a_server_is_told_when_its_last_match_is_gone_and_ends_when_it_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = remote(FOLDERS / "nim" / "info.yml")
    one, other = spec.make(), spec.make()
    for environment in (one, other):
        environment.reset(1)
    server = server_of(spec)
    told: list[bytes] = []
    monkeypatch.setattr(server._process, "wire", Overheard(server._process.wire, told))
    monkeypatch.setattr(connection, "DROPPED_AT_ONCE", 2)
    del one, environment
    other.step({0: 0})
    assert [frame[4] for frame in told] == [ServerKind.STEP], "one alone is not worth a frame"
    spec.make()
    other.step({1: 0})
    assert [frame[4] for frame in told] == [ServerKind.STEP, ServerKind.DROP], "told with the question that comes next"
    told.pop(0)
    del other
    assert [frame[4] for frame in told] == [ServerKind.DROP, ServerKind.DROP]

    # One that is as good as over is not taken for a match that comes now, and one with a match goes on.
    clock = [time.monotonic()]
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    clock[0] += connection.UNUSED_SECONDS - 1
    assert server_of(spec) is server
    clock[0] += connection.UNUSED_SECONDS + 1
    match = spec.make()
    assert server_of(spec) is not server
    assert not server.is_alive()
    server = server_of(spec)
    clock[0] += connection.UNUSED_SECONDS
    assert server_of(spec) is server
    del match


def test_the_garbage_of_a_fork_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = remote(FOLDERS / "nim" / "info.yml")
    match = spec.make()
    match.reset(1)
    server, told = server_of(spec), list[bytes]()
    monkeypatch.setattr(server._process, "wire", Overheard(server._process.wire, told))
    with monkeypatch.context() as patched:
        patched.setattr(server, "_owner", -1)
        del match
    assert told == []


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGABRT])
def test_a_server_that_is_killed_breaks_its_matches_and_the_next_gets_a_new_one(sent: signal.Signals) -> None:
    spec = remote(FOLDERS / "nim" / "info.yml")
    game, other = spec.make(), spec.make()
    game.reset(0)
    first = server_of(spec).pid
    os.kill(first, sent)
    with pytest.raises(BrokenEnvironment, match=f"nim-v1: its server has ended, with the signal {sent.value}"):
        game.step({0: 0})
    with pytest.raises(BrokenEnvironment, match="its server has ended"):
        other.reset(0)
    again = spec.make()
    again.reset(0)
    assert again.step({0: 0}) == (0.0, 0.0)
    assert server_of(spec).pid != first


@pytest.mark.parametrize(
    ("before", "sentence"),
    [
        ("os.abort()", "its server has ended, with the signal 6"),
        ("os._exit(0)", "its server has ended, with the exit status 0"),
        ("raise ValueError('lost')", "game-v1: game/environment.py, line 12: ValueError: lost."),
        ("time.sleep(600)", "its server did not answer within 2 s"),
    ],
)
@pytest.mark.slow
def test_what_goes_wrong_in_a_step_is_the_fault_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, sentence: str
) -> None:
    path = classic(tmp_path, "game", info="action_count: 2\n", before=before)
    spec = replace(read_info(path), is_outside=True)
    game = spec.make()
    game.reset(0)
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 2.0)
    with pytest.raises(BrokenEnvironment) as caught:
        game.step({0: 0})
    assert sentence in str(caught.value)


CRASHES = """
import os
import gymnasium

class Crashing(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample() * 0, {}

    def step(self, action):
        if action == 1:
            os.abort()
        return self.observation_space.sample() * 0, 0.5, False, False, {}

gymnasium.register("Crashing-v0", Crashing)
"""


def test_a_package_that_a_file_of_an_organiser_names_cannot_end_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "crashing.py").write_text(CRASHES)
    described(tmp_path, "mine", "crashing:Crashing-v0")
    with own_folder(tmp_path, monkeypatch):
        environment = get_spec("mine").make()
        environment.reset(1)
        assert environment.step({0: 0}) == (0.5,)
        with pytest.raises(BrokenEnvironment, match="its server has ended, with the signal 6"):
            environment.step({0: 1})
        assert get_spec("cart-pole").is_outside is False


def test_what_cannot_be_loaded_is_told_with_the_line(tmp_path: Path) -> None:
    spec = replace(read_info(classic(tmp_path, "game", code="\nraise OSError('gone')\n")), is_outside=True)
    with pytest.raises(BrokenEnvironment, match="game-v1 cannot be loaded: game/environment.py, line 2: OSError: gone"):
        spec.make()


def test_a_folder_that_has_changed_its_version_is_not_played_as_the_old_one(tmp_path: Path) -> None:
    path = classic(tmp_path, "game", info="action_count: 2\n")
    spec = replace(read_info(path), is_outside=True)
    path.write_text(path.read_text() + "version: 2\n")
    with pytest.raises(BrokenEnvironment, match="now holds game-v2, not game-v1"):
        spec.make()


def test_records_of_earlier_rules_are_checked_by_these(tmp_path: Path) -> None:
    info = copied("nim", tmp_path)
    rules = info.with_name("environment.py")
    newer = rules.read_text().replace("class Nim", "class Longer").replace("self._stones = 10", "self._stones = 15")
    info.with_name("longer.py").write_text(newer)
    text = info.read_text().replace("version: 1", "version: 2").replace("environment:Nim", "longer:Longer")
    info.write_text(text + "earlier: {1: {entry_point: 'environment:Nim'}}\n")
    now = remote(info)
    (before,) = (replace(one, is_outside=True) for one in now.earlier)
    for spec, stones in ((now, 15), (before, 10)):
        record = play(lambda asked: asked.good_answer(), spec=spec, matches=2).record
        assert record.environment == spec.id
        assert len(record.matches[0].actions) == stones
        assert recheck_record(spec, record) == []


def test_a_server_gets_no_secrets_and_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    code = "self.told = dict(os.environ)"
    path = classic(tmp_path, "game", info="action_count: 2\n", before=code)
    text = path.with_name("environment.py").read_text().replace("return self.left\n", "return self.told\n")
    path.with_name("environment.py").write_text(text)
    game = replace(read_info(path), is_outside=True).make()
    game.reset(0)
    game.step({0: 0})
    told = game.frame()["state"]
    assert "PATH" in told
    assert not {"SECRET_KEY", "DATABASE_URL", "REDIS_URL"} & told.keys()


def test_a_copy_of_the_server_that_its_code_has_forked_does_not_answer(tmp_path: Path) -> None:
    path = classic(tmp_path, "game", info="action_count: 2\n", before="os.fork()")
    game = replace(read_info(path), is_outside=True).make()
    game.reset(0)
    assert [game.step({number % 2: 0}) for number in range(2)] == [(0.0, 0.0)] * 2


def test_a_process_that_has_ended_keeps_its_number_until_it_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = server_of(remote(FOLDERS / "nim" / "info.yml"))
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
    assert not server.is_alive()
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # it is still there
    server.close()
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda group, _: killed.append(group))
    server.close()
    assert killed == [], "another process may have the number now"


def test_a_question_that_is_interrupted_leaves_no_answer_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    game = remote(FOLDERS / "nim" / "info.yml").make()
    game.reset(0)

    def interrupted(_: object) -> object:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(connection.ServerConnection, "_piece", interrupted)
        with pytest.raises(KeyboardInterrupt):
            game.step({0: 2})
    with pytest.raises(BrokenEnvironment, match="interrupted"):
        game.step({0: 0})


def test_an_answer_that_comes_in_pieces_has_no_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    game = remote(FOLDERS / "nim" / "info.yml").make()
    game.reset(0)
    asked: list[int] = []

    class Later:
        def __init__(self, _: int) -> None: ...

        def seconds(self) -> float:
            asked.append(1)
            return float(len(asked))

    monkeypatch.setattr(connection, "Timer", Later)
    monkeypatch.setattr(connection.ServerConnection, "_piece", lambda _: b"")
    with pytest.raises(BrokenEnvironment, match="did not answer within 20 s"):
        game.step({0: 0})
    assert len(asked) == connection.ANSWER_SECONDS


def test_a_seed_of_a_forged_record_is_no_crash() -> None:
    spec = remote(FOLDERS / "nim" / "info.yml")
    with pytest.raises(ValueError, match="does not fit"):
        spec.make().reset(1 << 80)
    record = play(lambda asked: asked.good_answer(), spec=spec, matches=2).record
    assert recheck_record(spec, record) == []
    forged = replace(record, matches=(replace(record.matches[0], seed=1 << 80), record.matches[1]))
    assert "does not fit" in " ".join(map(str, recheck_record(spec, forged)))


def test_html_and_head_are_drawn_by_the_server() -> None:
    spec = remote(FOLDERS / "classic_nim" / "info.yml")
    assert draw(spec, Drawing.HTML, {"state": [2]}).count('<li class="stone">') == 2
    assert "style.css" in draw(spec, Drawing.HEAD)
    assert draw(spec, Drawing.PICTURE, {"state": [2]}) == frame_to_svg({"state": [2]})
    with pytest.raises(BrokenEnvironment, match="classic_nim/environment.py, line"):
        draw(spec, Drawing.HTML, {"state": "x"})


def test_what_is_drawn_has_no_characters_that_no_page_can_hold(tmp_path: Path) -> None:
    path = classic(tmp_path, "game", info="action_count: 2\n")
    code = path.with_name("environment.py")
    code.write_text(code.read_text().replace('return f"<p>', 'return "\\ud800\\x1b" f"<p>'))
    spec = replace(read_info(path), is_outside=True)
    assert draw(spec, Drawing.HTML, {"state": 2}) == "<p>2</p>"


def test_frames_come_back_as_they_were_packed() -> None:
    states = [
        SteppedMatch(
            RowStatus.PLAYED, (1.0, -1.0), True, (), {0: Observation(b"ab", (1, 2)), 1: Observation(b"cd", ())}
        ),
        SteppedMatch(RowStatus.ILLEGAL, (0.0, 0.0), message="no"),
        SteppedMatch(RowStatus.PLAYED, (0.5, -0.5), False, (1,), {1: Observation(b"ef", (7,))}),
    ]
    packed = pack_states(states, 2)
    assert unpack_states(packed, 2, 2, 9) == states
    steps = [(1, {0: 5}), (9, {0: -1, 1: 1 << 40}), (2, {})]
    assert unpack_steps(pack_steps(steps, 0), 0) == steps
    arrays = [(1, {0: b"abcd"}), (2, {0: b"efgh"})]
    assert unpack_steps(pack_steps(arrays, 4), 4) == arrays
    beginnings = [(1, 3, (4, 0, 2)), (2, 1 << 60, ()), (3, -1, (7,))]
    assert unpack_resets(pack_resets(beginnings)) == beginnings
    for end in range(0, len(packed) - 8, 3):
        with pytest.raises(BadFrame):
            unpack_states(packed[:end], 2, 2, 9)


@pytest.mark.parametrize(
    "state",
    [
        SteppedMatch(RowStatus.PLAYED, (float("nan"), 0.0), False, (1,), {1: Observation(b"ef", (7,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, float("inf")), False, (1,), {1: Observation(b"ef", (7,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (2,), {2: Observation(b"ef", (7,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {2: Observation(b"ef", (7,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {0: Observation(b"ef", (7,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1, 1), {1: Observation(b"ef", (7,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {1: Observation(b"ef", ())}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {1: Observation(b"ef", (8,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {1: Observation(b"ef", (-1,))}),
        SteppedMatch(RowStatus.PLAYED, (0.0, 0.0), False, (1,), {1: Observation(b"efg", (7,))}),
    ],
)
def test_a_server_that_has_been_taken_over_cannot_say_what_no_player_could_answer(state: SteppedMatch) -> None:
    fine = SteppedMatch(RowStatus.PLAYED, (0.5, -0.5), False, (0,), {0: Observation(b"ab", (0, 7))})
    assert unpack_states(pack_states([fine, fine], 2), 2, 2, 8) == [fine, fine]
    with pytest.raises(BadFrame):
        unpack_states(pack_states([fine, state], 2), 2, 2, 8)


def test_what_is_seen_after_the_end_may_name_no_action_or_any() -> None:
    seen = {0: Observation(b"ab", ()), 1: Observation(b"cd", (-5, 99))}
    over = SteppedMatch(RowStatus.PLAYED, (1.0, -1.0), False, (), seen)
    assert unpack_states(pack_states([over], 2), 2, 2, 8) == [over]
