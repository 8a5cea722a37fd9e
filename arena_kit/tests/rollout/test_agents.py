"""Agents of rollouts without a browser: actions of other systems, players over the wire, steps that are found again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena_kit.environment.spec import Limits
from arena_kit.examples import FOLDER
from arena_kit.rollout.agents.agent import AgentFault, AgentLate
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.agents.player import PlayerAgent
from arena_kit.rollout.gateway.endpoint import AskedModel, ChatForm, Endpoint
from arena_kit.rollout.gateway.gateway import Gateway
from arena_kit.rollout.recording.steps import target_of
from arena_kit.rollout.values.actions import ActionRefused, action_read
from arena_kit.rollout.values.older_actions import action_adapted
from arena_kit.sandbox.base import Launch
from arena_kit.sandbox.process import ProcessSandbox
from arena_kit.tests.rollout.fake_model import calls, fake_model, says

STATE: dict[str, Any] = {
    "goal": "Do it.", "format": None, "actions": ["click"], "url": "http://web:8000/", "title": "T", "tabs": [],
    "steps_left": 3, "last_error": "", "dialog": None, "snapshot": '- button "Add" [ref=e7]',
}  # fmt: skip
SNAPSHOT = """
- generic [ref=e1] [box=0,0,9,9]:
  - button "Add" [ref=e2] [cursor=pointer] [box=0,0,9,9]
  - 'button "Say: \\"x\\"" [ref=e9]'
  - textbox "Note" [active] [ref=e3]: Buy
  - button "Add" [ref=e4]
  - cell [ref=e5]
"""


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"action": "click", "ref": "e7"}, {"action": "click", "ref": "e7"}),
        ({"name": "click_at", "args": {"x": 500, "y": 20}}, {"action": "click", "x": 500, "y": 20, "scale": 1000}),
        ({"name": "type_text_at", "args": {"x": 1, "y": 2, "text": "a", "press_enter": False}},
         {"action": "type", "x": 1, "y": 2, "scale": 1000, "text": "a", "enter": False, "clear": True}),
        ({"name": "scroll_document", "args": {"direction": "up"}}, {"action": "scroll", "dx": 0, "dy": -600}),
        ({"name": "scroll_at", "args": {"x": 1, "y": 2, "direction": "right", "magnitude": 50}},
         {"action": "scroll", "dx": 50, "dy": 0, "x": 1, "y": 2, "scale": 1000}),
        ({"name": "key_combination", "args": {"keys": "control+a"}}, {"action": "press", "keys": "Control+a"}),
        ({"name": "drag_and_drop", "args": {"x": 1, "y": 2, "destination_x": 3, "destination_y": 4}},
         {"action": "drag", "from": [1, 2], "to": [3, 4], "scale": 1000}),
        ({"name": "navigate", "args": {"url": "/a"}, "note": "Why"}, {"action": "goto", "url": "/a", "note": "Why"}),
        ({"action": "wait_5_seconds"}, {"action": "wait", "seconds": 5}),
        ({"name": "go_back", "args": {}}, {"action": "back"}),
        ('click("12")', {"action": "click", "ref": "e12"}),
        ("fill('f1e2', \"it's\")", {"action": "fill", "ref": "f1e2", "text": "it's"}),
        ('select_option("3", ["a", "b"])', {"action": "select_option", "ref": "e3", "values": ["a", "b"]}),
        ("mouse_click(10, 20, button='right')", {"action": "click", "x": 10, "y": 20, "button": "right"}),
        ("noop(500)", {"action": "wait", "seconds": 0.5}),
        ("send_msg_to_user('{\"a\": 1}')", {"action": "answer", "value": {"a": 1}}),
        ("report_infeasible('no')", {"action": "give_up", "status": "UNKNOWN", "reason": "no"}),
        ("The balance is:\n```json\n{\"balance\": 2.5}\n```", {"action": "answer", "value": {"balance": 2.5}}),
        ("click(open('/etc/passwd'))", {"action": "answer", "value": "click(open('/etc/passwd'))"}),
        ("click('1'); click('2')", {"action": "answer", "value": "click('1'); click('2')"}),
    ],
)  # fmt: skip
def test_actions_of_other_systems_are_ours(written: Any, meant: dict[str, Any]) -> None:
    assert action_adapted(written) == meant
    assert action_read(action_adapted(written)).as_json() == meant


@pytest.mark.parametrize(
    "written",
    [{"name": "click_at", "args": {"x": 1}}, {"name": "click_at", "args": 7}, "fill('1', 2, 3, x=4)",
     {"name": "scroll_document", "args": {"direction": "sideways"}}, {"name": "format_disk"}, {"action": ["click"]}, 7,
     None, [["click"]], "tab_focus('x')", "drag_and_drop('1')"],
)  # fmt: skip
def test_what_fits_no_form_is_refused(written: Any) -> None:
    with pytest.raises(ActionRefused):
        action_read(action_adapted(written))


def test_a_text_that_is_no_single_call_is_a_last_word() -> None:
    for text in ("goto(*[1])", "click(**{})", "x" * 50_000, "click(" * 5_000, f"click({'-' * 30_000}1)", "x()"):
        assert action_adapted(text)["action"] == "answer"


@pytest.mark.parametrize(
    ("ref", "selector"),
    [
        ("e2", 'role=button[name="Add"] >> nth=0'),
        ("e4", 'role=button[name="Add"] >> nth=1'),
        ("e3", 'role=textbox[name="Note"] >> nth=0'),
        ("e5", ""),
        ("e99", ""),
    ],
)
def test_an_element_is_found_again_by_role_and_name(ref: str, selector: str) -> None:
    assert target_of(ref, SNAPSHOT) == selector


Start = Callable[..., PlayerAgent]


@pytest.fixture
def start() -> Iterator[Start]:
    folder, made = Path(tempfile.mkdtemp(prefix="arena-")), []
    folder.chmod(0o711)

    def begin(code: str | Path, *, meter: Meter | None = None, model_folder: str = "") -> PlayerAgent:
        player = folder / "player"
        if isinstance(code, Path):
            shutil.copytree(code, player)
        else:
            player.mkdir()
            (player / "player.py").write_text(code)
        sandbox = ProcessSandbox(folder / "channels")
        launch = Launch(
            f"folder:{player}", f"arena-test-{folder.name}", limits=Limits(start_seconds=20.0), labels={},
            model_folder=model_folder,
        )  # fmt: skip
        made.append(PlayerAgent(lambda _: sandbox.launch(launch), meter or Meter(), environment="notes"))
        return made[-1]

    yield begin
    for agent in made:
        agent.close()
    shutil.rmtree(folder)


def test_a_player_sees_and_acts_as_json(start: Start) -> None:
    agent = start("""
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        assert state["screenshot"] == b"PNG" and valid_actions == ["click"] and "actions" not in state
        return {"action": "click", "ref": "e7", "note": state["goal"]}
    def step(self, state, valid_actions, prev_reward):
        assert state["screenshot"] is None
        return "click('7')"
    def end(self, state, prev_reward):
        print("The end:", prev_reward)
""")
    assert agent.choose(STATE, b"PNG", seconds=20) == {"action": "click", "ref": "e7", "note": "Do it."}
    assert agent.choose(STATE, None, seconds=20) == "click('7')"
    agent.end(STATE, 0.5)
    agent.close()
    assert "The end: 0.5" in agent.log


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("raise ValueError('no idea')", "player_raised", "no idea"),
        ("return object()", "malformed_answer", "must be JSON"),
        ("return float('nan')", "malformed_answer", "must be JSON"),
        ("return {'action': 'note', 'text': 'x' * 70_000}", "oversized_answer", "too large"),
        ("import os; os._exit(3)", "player_died", ""),
        ("v = []\n        for _ in range(100_000): v = [v]\n        return v", "malformed_answer", ""),
    ],
)
def test_a_player_that_breaks_is_at_fault(body: str, code: str, said: str, start: Start) -> None:
    agent = start(f"""
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        {body}
""")
    with pytest.raises(AgentFault) as fault:
        agent.choose(STATE, None, seconds=20)
    assert (fault.value.code, said in str(fault.value)) == (code, True), str(fault.value)


def test_a_player_that_cannot_start_and_one_that_never_answers(start: Start) -> None:
    with pytest.raises(AgentFault) as fault:
        start("import nothing_of_this_name").choose(STATE, None, seconds=20)
    assert fault.value.code == "player_failed_to_start"


@pytest.mark.slow
def test_a_player_that_never_answers_is_late(start: Start) -> None:
    agent = start("""
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions):
        while True: pass
""")
    with pytest.raises(AgentLate):
        agent.choose(STATE, None, seconds=0.3)


@pytest.mark.slow
def test_a_player_is_not_waited_for_when_the_rollout_ends(start: Start) -> None:
    agent = start("""
import time
class Player:
    def __init__(self, train_mode): pass
    def start(self, state, valid_actions): time.sleep(60)
""")
    left = iter([False, False, True])
    with pytest.raises(AgentLate):
        agent.choose(STATE, None, seconds=60, is_over=lambda: next(left))
    agent.end(STATE, 1.0)


def test_the_agent_for_models_asks_through_the_gateway_and_acts(start: Start, tmp_path: Path) -> None:
    sockets, meter = Path(tempfile.mkdtemp(prefix="arena-")), Meter()
    sockets.chmod(0o711)
    script = (calls("click", ref="e7"), calls("fill", text=7), says('It is done: {"balance": 2.5}'))
    try:
        with fake_model(*script) as double:
            endpoint = Endpoint(AskedModel("the-model", double.url), ChatForm())
            with Gateway(endpoint, meter, sockets / "s", tmp_path) as gateway:
                agent = start(FOLDER / "model_browser", meter=meter, model_folder=str(gateway.folder))
                first = agent.choose(STATE, None, seconds=30)
                assert first == {"action": "click", "ref": "e7", "note": ""}
                second = agent.choose({**STATE, "last_error": "It is gone."}, None, seconds=30)
                assert second["action"] == "fill"
                last = agent.choose(STATE, None, seconds=30)
                assert action_adapted(last) == {"action": "answer", "value": {"balance": 2.5}}
                agent.close()
    finally:
        shutil.rmtree(sockets)
    messages = double.asked[-1][2]["messages"]
    assert [each["role"] for each in messages] == [
        "system", "user", "user", "assistant", "tool", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert "Do it." in messages[1]["content"]
    assert messages[4]["content"] == "It did not work."
    assert "[an older page]" in messages[2]["content"][0]["text"]
    assert 'button "Add"' in messages[-1]["content"][0]["text"]
    assert meter.usage.requests == 3


def test_the_browsers_image_has_the_locked_packages() -> None:
    root = Path(__file__).parents[3]
    image = (root / "arena_kit/image/base/browser/requirements.txt").read_text().splitlines()[1:]
    locked = (root / "requirements.txt").read_text()
    assert [line.partition("==")[0] for line in image if "==" in line] == ["greenlet", "playwright"]
    assert "\n".join(image[: image.index(next(line for line in image if line.startswith("playwright")))]) in locked
    assert all(line in locked for line in image)
