"""When a rollout ends, and what is read of a browser that a page may have taken over; without a browser."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from arena_kit.errors import PlatformFault
from arena_kit.frames import HEAD, BadFrame
from arena_kit.rollout.agents.agent import AgentFault, AgentLate, ScriptedAgent
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.attempt import Work
from arena_kit.rollout.browser.container import BrowserHost
from arena_kit.rollout.browser.folder import policies
from arena_kit.rollout.browser.inside.browser_server.messages import decode, encode
from arena_kit.rollout.browser.observation import PageObservation, Seen, seen_read
from arena_kit.rollout.checks.evidence import SUCCESS
from arena_kit.rollout.exports.requests import requests_in
from arena_kit.rollout.judge import EndedBy
from arena_kit.rollout.loop import MOST_INVALID, BrowserWork, RolloutHost
from arena_kit.rollout.progress import RolloutProgress
from arena_kit.rollout.recording.har import har_bytes
from arena_kit.rollout.recording.record import steps_in
from arena_kit.rollout.recording.recorder import MOST_REQUESTS, Recorder
from arena_kit.rollout.tasks.file import tasks_read
from arena_kit.rollout.tasks.task import RolloutLimits, Task
from arena_kit.rollout.values.actions import Action

REQUEST: dict[str, Any] = {
    "number": 1, "at": 1_750_000_000.5, "method": "POST", "url": "http://web:8000/add?a=1", "kind": "document",
    "headers": {"cookie": "***"}, "body": "text=milk", "mime": "application/x-www-form-urlencoded", "status": 303,
    "ms": 5, "answered": {"location": "/"},
}  # fmt: skip
ANSWER: dict[str, Any] = {
    "url": "http://web:8000/", "title": "T", "tabs": [{"url": "http://web:8000/", "title": "T", "active": True}],
    "snapshot": "- button", "dialog": None, "remarks": [], "problem": "", "requests": [REQUEST], "requests_lost": 0,
    "has_picture": False, "has_trace": False, "frames_at": [],
}  # fmt: skip


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


class StillPage:
    """A test double of a browser, which shows one page for ever. fails: what every action says."""

    def __init__(self, fails: str = "") -> None:
        self.fails = fails

    def act(self, action: Action, *, picture: bool = False) -> Seen:
        return Seen(PageObservation(url="http://web:8000/", snapshot="- button", error=self.fails), not self.fails)


class Endless(ScriptedAgent):
    """Does the same for ever, and something else besides. costs: called before each answer."""

    def __init__(self, costs: Callable[[], object] = lambda: None, value: Any = None) -> None:
        super().__init__([])
        self._costs, self._value = costs, value or {"action": "reload"}

    def choose(self, state: Mapping[str, Any], picture: bytes | None, **further: Any) -> Any:
        self._costs()
        return self._value


@pytest.fixture
def clock() -> Clock:
    return Clock()


def task(**limits: Any) -> Task:
    (found,) = tasks_read(json.dumps([{"id": "a", "task": "Do it.", "answer": 1}]).encode()).tasks
    return dataclasses.replace(found, limits=RolloutLimits(**limits))


def ended(
    agent: ScriptedAgent, clock: Clock, folder: Path, *, meter: Meter | None = None, page: StillPage | None = None,
    cancelled: bool = False, **limits: Any,
) -> tuple[Work, RolloutProgress, list[dict[str, Any]]]:  # fmt: skip
    host = RolloutHost(None, BrowserHost("", folder), clock=clock, is_cancelled=lambda: cancelled)  # type: ignore[arg-type]  # unused
    folder.mkdir(exist_ok=True)
    recorder, progress = Recorder(folder), RolloutProgress(clock.now)
    try:
        work = BrowserWork(host, agent, recorder, meter)._work(page or StillPage(), task(**limits), progress)  # type: ignore[arg-type]  # a double
    finally:
        recorder.close()
    return work, progress, steps_in(folder)


def test_a_rollout_ends_at_the_first_of_its_limits(clock: Clock, tmp_path: Path) -> None:
    def passes() -> None:
        clock.now += 10

    work, progress, steps = ended(Endless(), clock, tmp_path / "1", steps=7)
    assert (work.ended_by, progress.steps, len(steps)) == (EndedBy.STEP_LIMIT, 7, 7)
    work, progress, _ = ended(Endless(passes), clock, tmp_path / "2", seconds=35)
    assert (work.ended_by, progress.steps) == (EndedBy.TIME_LIMIT, 4)
    work, progress, _ = ended(Endless(passes), clock, tmp_path / "3", agent_seconds=25)
    assert (work.ended_by, progress.agent_seconds) == (EndedBy.TIME_LIMIT, 30)
    meter = Meter(tokens=100)
    costs = lambda: meter.add(tokens_in=40, tokens_out=10, tokens_cached=0, cost_micros=1)  # noqa: E731
    work, progress, steps = ended(Endless(costs), clock, tmp_path / "4", meter=meter)
    assert (work.ended_by, progress.steps) == (EndedBy.TOKEN_LIMIT, 2)
    assert [step["tokens"] for step in steps] == [50, 100]
    work, *_ = ended(Endless(), clock, tmp_path / "5", meter=Meter(cost_micros=0))
    assert work.ended_by is EndedBy.COST_LIMIT
    work, *_ = ended(Endless(), clock, tmp_path / "6", cancelled=True)
    assert work.ended_by is EndedBy.CANCELLED


def test_time_in_which_a_model_is_asked_is_not_the_agents_own(clock: Clock, tmp_path: Path) -> None:
    meter = Meter(clock=clock)

    def asks() -> None:
        clock.now += 1
        with meter:
            clock.now += 100

    _, progress, steps = ended(Endless(asks), clock, tmp_path, meter=meter, steps=3, agent_seconds=50)
    assert progress.agent_seconds == 3
    assert [step["agent_ms"] for step in steps] == [1000, 1000, 1000]


def test_ten_actions_in_a_row_that_do_not_work_end_it(clock: Clock, tmp_path: Path) -> None:
    for number, (page, value) in enumerate([
        (StillPage("It is gone."), {"action": "reload"}), (StillPage(), {"action": "fly"}), (StillPage(), [1]),
        (StillPage(), {"action": "give_up", "status": "TIRED"}), (StillPage(), {"action": "click", "selector": "a"}),
    ]):  # fmt: skip
        folder = tmp_path / str(number)
        agent = Endless(value=value)
        agent.is_scripted = False
        work, _, steps = ended(agent, clock, folder, page=page)
        assert (work.ended_by, work.fault_code) == (EndedBy.AGENT_FAULT, "too_many_invalid_actions")
        assert len(steps) == MOST_INVALID + 1
        assert all(step["error"] for step in steps)


class InTurn(ScriptedAgent):
    """Sends values as they are, one after another."""

    is_scripted = False

    def __init__(self, *values: Any) -> None:
        super().__init__([])
        self._values = list(values)

    def choose(self, state: Mapping[str, Any], picture: bytes | None, **further: Any) -> Any:
        return self._values.pop(0)


def test_a_log_keeps_what_was_sent_and_no_error_of_an_earlier_step(clock: Clock, tmp_path: Path) -> None:
    agent = InTurn(
        {"name": "click_at", "args": {"x": 500, "y": 20}}, {"action": "fly", "to": "é"}, {"action": "reload"},
        {"action": "fly"}, {"action": "answer", "value": 1},
    )  # fmt: skip
    work, progress, steps = ended(agent, clock, tmp_path)
    assert work.answer == 1
    assert [bool(step["error"]) for step in steps] == [False, True, False, True, False]
    assert progress.error == ""
    assert steps[0]["action"]["action"] == "click"
    assert json.loads(steps[0]["sent"]) == {"name": "click_at", "args": {"x": 500, "y": 20}}
    assert (steps[1]["action"], json.loads(steps[1]["sent"])) == ({}, {"action": "fly", "to": "é"})
    assert steps[2]["sent"] == "", "the action says it all"


def test_why_an_agent_breaks_decides_whose_fault_it_is(clock: Clock, tmp_path: Path) -> None:
    def breaks() -> None:
        raise AgentFault("It raised \x1b[2J", code="player_raised")

    def is_late() -> None:
        raise AgentLate

    work, _, steps = ended(Endless(breaks), clock, tmp_path / "1")
    assert (work.ended_by, work.fault_code) == (EndedBy.AGENT_FAULT, "player_raised")
    assert steps[-1]["error"] == "It raised [2J"
    work, *_ = ended(Endless(is_late), clock, tmp_path / "2")
    assert work.ended_by is EndedBy.TIME_LIMIT
    spent = Meter(tokens=1)
    spent.add(tokens_in=1, tokens_out=0, tokens_cached=0, cost_micros=0)
    work, *_ = ended(Endless(breaks), clock, tmp_path / "3", meter=spent)
    assert work.ended_by is EndedBy.TOKEN_LIMIT
    failed = Meter()

    def model_fails() -> None:
        failed.fail("model_unavailable", "It does not answer.")
        breaks()

    with pytest.raises(PlatformFault) as fault:
        ended(Endless(model_fails), clock, tmp_path / "4", meter=failed)
    assert fault.value.code == "model_unavailable"


def test_an_answer_is_taken_in_every_form(clock: Clock, tmp_path: Path) -> None:
    for number, (value, meant, status) in enumerate([
        ({"action": "answer", "value": [1]}, [1], SUCCESS),
        ({"action": "answer", "value": None, "status": "NOT_FOUND"}, None, "NOT_FOUND"),
        ("The number is 7.", "The number is 7.", SUCCESS),
        ('send_msg_to_user("[1, 2]")', [1, 2], SUCCESS),
    ]):  # fmt: skip
        work, *_ = ended(Endless(value=value), clock, tmp_path / str(number))
        assert (work.answer, work.status, work.ended_by) == (meant, status, EndedBy.DONE)


@pytest.mark.parametrize(
    ("changes", "attachments"),
    [
        ({"url": 7}, []), ({"tabs": None}, []), ({"tabs": [7]}, []), ({"remarks": [[]]}, []), ({"dialog": 7}, []),
        ({"has_picture": True}, []), ({"has_trace": True}, []), ({"frames_at": ["x"]}, [b"x"]),
        ({"frames_at": [1]}, []), ({}, [b"too much"]),
        ({"requests": 7}, []), ({"requests_lost": "x"}, []), ({"problem": None}, []),
        ({"frames_at": [float("inf")]}, [b"x"]),
    ],
)  # fmt: skip
def test_an_answer_that_a_page_has_made_up_is_the_platforms_fault(
    changes: dict[str, Any], attachments: list[bytes]
) -> None:
    with pytest.raises(PlatformFault):
        seen_read({**ANSWER, **changes}, attachments)


def test_an_honest_answer_is_cleaned_and_cut() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"x"
    found = seen_read(
        {**ANSWER, "title": "A\x1b[2J\n b", "snapshot": "é" * 99_999, "has_picture": True, "frames_at": [5],
         "problem": "No.", "remarks": ["So."]}, [png, b"jpeg"],
    )  # fmt: skip
    assert (found.observation.title, len(found.observation.snapshot)) == ("A[2J b", 64 << 10)
    assert (found.observation.picture, found.frames, found.is_done) == (png, ((5, b"jpeg"),), False)
    assert found.observation.error == "No. So."
    assert seen_read({**ANSWER, "has_picture": True}, [b"<html>"]).observation.picture is None


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{}", b"no", b"[" * 99_999, b'{"sizes": 7}', b'{"sizes": [-1]}', b'{"sizes": [true]}',
     b'{"sizes": [999999999999]}', json.dumps({"sizes": [0] * 30_000}).encode()],
)  # fmt: skip
def test_frames_out_of_form_are_refused(text: bytes) -> None:
    with pytest.raises(BadFrame):
        decode(len(text).to_bytes(4, "little") + text)
    whole = encode({"do": "act"}, [b"abc", b"", b"d"])[HEAD.size :]
    assert decode(whole) == ({"do": "act"}, [b"abc", b"", b"d"])
    for payload in (b"", b"\xff\xff\xff\xff", whole[:-1], whole + b"!"):
        with pytest.raises(BadFrame):
            decode(payload)


def test_a_network_log_is_read_back_and_what_is_made_up_is_a_fault(tmp_path: Path) -> None:
    (request,) = requests_in(har_bytes([REQUEST]))
    assert (request.method, request.address.path, request.status) == ("POST", "/add", 303)
    assert request.form == {"text": ("milk",)}
    for changes in ({"at": "x"}, {"at": 1e300}, {"headers": 7}, {"number": None}, {"status": "x"}, {"answered": None}):
        with pytest.raises(PlatformFault):
            har_bytes([{**REQUEST, **changes}])
    recorder = Recorder(tmp_path)
    flood = tuple({**REQUEST, "number": number, "body": "x" * 60_000} for number in range(700))
    recorder.seen(Seen(PageObservation(), is_done=True, requests=flood, requests_lost=5))
    log = json.loads(recorder.har())["log"]
    recorder.close()
    assert 500 < len(log["entries"]) < 700 < MOST_REQUESTS
    assert log["comment"] == f"{705 - len(log['entries'])} requests are left out."


def test_the_browsers_policy_lets_it_open_the_application_alone() -> None:
    found = policies(("http://web:8000",))
    assert found["URLBlocklist"] == ["*"]
    assert found["URLAllowlist"] == ["http://.web:8000", "about:*", "data:*", "blob:*"]
