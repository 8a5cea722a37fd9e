"""Agents in a real browser in a real world: seen, acted on, recorded, judged, replayed; and hostile pages."""

from __future__ import annotations

import dataclasses
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from arena_kit.image.engine import connect
from arena_kit.rollout.agents.agent import ScriptedAgent
from arena_kit.rollout.browser.browser import Browser
from arena_kit.rollout.browser.container import NAME
from arena_kit.rollout.judge import TaskOutcome
from arena_kit.rollout.loop import FREE_NOTES
from arena_kit.rollout.play import rollout_replay, rollout_run
from arena_kit.rollout.recording.record import record_judge, record_read, steps_in
from arena_kit.rollout.values.actions import Action, action_read
from arena_kit.rollout.worlds.world import WORLD_LABEL, Extras
from arena_kit.tests.rollout.browsers import Stage, stage
from arena_kit.tests.rollout.test_worlds import PROBE, UNREACHABLE

pytestmark = [pytest.mark.docker, pytest.mark.browser_image, pytest.mark.slow, pytest.mark.nightly]


@pytest.fixture(scope="module")
def place() -> Iterator[Stage]:
    with stage() as made:
        yield made


def script(*actions: object) -> ScriptedAgent:
    return ScriptedAgent([action_read(each, scripted=True) for each in actions])


def worlds_left(label: str) -> int:
    client = connect()
    try:
        return len(client.api.containers(all=True, filters={"label": f"arena.test={label}"}))
    finally:
        client.close()


def test_a_script_works_in_a_browser_and_is_recorded_and_judged(place: Stage) -> None:
    task = place.task()
    played, folder = place.run(lambda: ScriptedAgent([Action("screenshot"), *task.oracle]), task, "oracle")
    assert (played.verdict.outcome, played.verdict.sentence) == (TaskOutcome.SOLVED, "")
    steps = steps_in(folder)
    assert [step["action"]["action"] for step in steps] == ["screenshot", "fill", "click", "answer"]
    with zipfile.ZipFile(folder / "pages.zip") as pages:
        first = pages.read(f"{steps[0]['snapshot_sha256']}.txt").decode()
        assert "Notes of Ada" in first
        assert pages.read(steps[1]["picture"]).startswith(b"\x89PNG")
    har = json.loads((folder / "network.har").read_bytes())["log"]["entries"]
    assert [(each["request"]["method"], each["response"]["status"]) for each in har][:2] == [
        ("GET", 200),
        ("POST", 303),
    ]
    assert "name=Ada" not in json.dumps(har), "A cookie is in the log."
    assert {"trace.zip", "video.webm", "rollout.json", "export.zip", "world.log"} <= {
        path.name for path in folder.iterdir()
    }
    assert record_judge(folder, place.built, task).is_solved
    verdicts = (folder / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["why"] for line in verdicts] == ["first", "again"]
    assert record_read(folder)["answer"] == 3
    assert place.worlds.reserved_bytes() == 0


def test_the_network_log_of_a_package_with_a_proxy_comes_from_the_proxy(place: Stage) -> None:
    proxied = dataclasses.replace(place, built=dataclasses.replace(place.built, front=True))
    task = place.task()
    played, folder = proxied.run(lambda: ScriptedAgent(task.oracle), task, "proxied")
    # One of its checks is of a request.
    assert (played.verdict.outcome, played.verdict.sentence) == (TaskOutcome.SOLVED, "")
    har, told = (json.loads((folder / name).read_bytes())["log"]["entries"] for name in ("network.har", "browser.har"))
    kinds = {each["_resourceType"] for each in har}
    asked = [(each["request"]["method"], each["response"]["status"]) for each in har]
    assert (kinds, asked[:2]) == ({"front"}, [("POST", 303), ("GET", 200)])
    assert "name=Ada" not in json.dumps(har), "The login or a cookie is in the log."
    assert "front" not in {each["_resourceType"] for each in told}
    assert record_judge(folder, proxied.built, task).is_solved
    assert place.worlds.reserved_bytes() == 0


def test_a_rollout_by_references_is_replayed_by_role_and_name(place: Stage) -> None:
    kept = place.output("kept")

    class Reads(ScriptedAgent):
        """Looks references up in the snapshot, as models do."""

        is_scripted = False

        def choose(self, state: Mapping[str, Any], picture: bytes | None, **further: Any) -> Any:
            wanted = ['textbox "Note"', 'button "Add"', ""][state["step"]]
            line = next((line for line in state["snapshot"].splitlines() if wanted and wanted in line), "")
            ref = line.partition("[ref=")[2].partition("]")[0]
            return [
                {"action": "fill", "ref": ref, "text": "Buy milk"}, {"action": "click", "ref": ref},
                {"action": "answer", "value": 3},
            ][state["step"]]  # fmt: skip

    task = place.task()
    played = rollout_run(place.host, place.built, task, lambda _: Reads([]), kept, name="reads")
    assert played.verdict.is_solved, played.verdict
    found = rollout_replay(place.host, place.built, task, kept, place.output("replay"))
    assert found.differences == ()
    assert found.played.record["export_digest"] == played.record["export_digest"]


def test_what_does_not_work_is_said_and_ten_in_a_row_end_the_rollout(place: Stage) -> None:
    wrong = [
        ["goto", "file:///etc/passwd"], ["goto", "javascript:alert(1)"], ["goto", "http://db:5432/"],
        ["click", "role=button[name=None]"], ["close_tab"], ["dialog", True], ["upload", "label=Note", "x"],
        {"action": "click", "x": 5000, "y": 1}, ["switch_tab", 9], ["press", "No+Such+Key"],
    ]  # fmt: skip
    played, folder = place.run(lambda: script(*wrong), place.task(), "wrong")
    assert (played.verdict.outcome, played.verdict.code) == (TaskOutcome.NOT_SOLVED, "too_many_invalid_actions")
    assert all(step["error"] for step in steps_in(folder))


@pytest.mark.parametrize(
    ("actions", "sentence"),
    [
        ([["goto", "/away"], ["goto", "/"]], ""),
        ([["goto", "/file"], ["goto", "/"]], ""),
        ([["goto", "/loop"], ["wait", 1], ["goto", "/"]], "does not respond"),
        ([["goto", "/alerts"], ["wait", 1], ["dialog", True], ["click", "role=link"]], "A dialog waits"),
        ([["click", "role=link[name=Download]"], ["goto", "/"]], ""),
        ([["goto", "/tabs"], ["click", "role=button[name=Many]"], *[["new_tab"]] * 8], "At most 8 tabs"),
    ],
)  # fmt: skip
def test_a_hostile_page_spoils_nothing(place: Stage, actions: list[object], sentence: str) -> None:
    played, folder = place.run(lambda: script(*actions), place.task(), re.sub(r"\W+", "-", str(actions[0])))
    assert (played.verdict.outcome, played.verdict.fault) == (TaskOutcome.NOT_SOLVED, "NONE"), played.verdict
    steps = steps_in(folder)
    assert len(steps) == len(actions) + 1
    assert sentence in " ".join(step["error"] for step in steps)
    with zipfile.ZipFile(folder / "pages.zip") as pages:
        assert not any(b"root:" in pages.read(name) for name in pages.namelist()), "A file of the container was shown."
    assert place.worlds.reserved_bytes() == 0


def test_a_browsers_container_has_no_way_out_and_can_write_nothing_but_its_own(place: Stage) -> None:
    with place.worlds.open(place.built, seconds=300, extras=Extras(Browser.memory_bytes)) as world:
        with Browser(place.host.browsers, world):
            found = json.loads(world.run(NAME, ["python3", "-c", PROBE], seconds=30).output)
            wrote = world.run(NAME, ["touch", "/channel/x", "/x", "/etc/chromium/policies/managed/x"], seconds=10)
            listing = world.run(NAME, ["ls", "/channel"], seconds=10).output
        assert found == {
            "links": ["lo"], "caps": "0" * 16, "gateway": UNREACHABLE, "metadata": UNREACHABLE, "out": UNREACHABLE,
            "name": "unknown", "service": "127.0.0.1", "packets": "refused",
        }  # fmt: skip
        assert wrote.output.count("Read-only file system") == 3
        assert listing.split() == ["browser.sock", "browser_server", "policies"] or "browser.sock" not in listing
        with pytest.raises(KeyError):
            world.run(NAME, ["true"], seconds=10)
    assert list(place.host.browsers.channel_dir.iterdir()) == []


class Breaks(ScriptedAgent):
    """Does something to the world's containers before its second action."""

    def __init__(self, name: str) -> None:
        super().__init__([Action("reload"), Action("reload"), Action("reload")])
        self._name = name

    def choose(self, state: Mapping[str, Any], picture: bytes | None, **further: Any) -> Any:
        if state["step"] == 1:
            client = connect()
            try:
                (found,) = [
                    each for each in client.api.containers(filters={"label": WORLD_LABEL})
                    if each["Names"][0].endswith(f"-{self._name}") and each["Labels"].get("arena.test") == "breaks"
                ]  # fmt: skip
                client.api.kill(found["Id"])
            finally:
                client.close()
        return super().choose(state, picture, **further)


def test_a_browser_that_is_killed_is_the_platforms_fault_and_nothing_is_left(place: Stage) -> None:
    folder = place.output("killed")
    host = dataclasses.replace(place.host, labels={"arena.test": "breaks"})
    played = rollout_run(host, place.built, place.task(), lambda _: Breaks(NAME), folder, name="breaks")
    assert (played.verdict.fault, played.verdict.code) == ("PLATFORM", "browser_failed"), played.verdict
    assert [step["action"]["action"] for step in steps_in(folder)] == ["reload"]
    assert place.worlds.reserved_bytes() == 0
    assert list(place.host.browsers.channel_dir.iterdir()) == []
    assert worlds_left("breaks") == 0


def test_hostile_words_of_an_agent_are_kept_without_controls(place: Stage) -> None:
    folder = place.output("words")
    html = "<script>alert(1)</script>"
    actions: list[Any] = [
        *({"action": "note", "text": html} for _ in range(FREE_NOTES + 3)),
        {"action": "note", "text": "\x1b[2J"}, {"action": "fill", "ref": "e0", "text": html, "note": html}, [[[[]]]],
        {"action": "answer", "value": 4},
    ]  # fmt: skip

    class Hostile(ScriptedAgent):
        is_scripted = False

        def choose(self, state: Mapping[str, Any], picture: bytes | None, **further: Any) -> Any:
            return actions.pop(0)

    played = rollout_run(place.host, place.built, place.task(), lambda _: Hostile([]), folder, name="hostile")
    assert (played.verdict.outcome, played.verdict.code) == (TaskOutcome.NOT_SOLVED, "check_failed")
    steps = steps_in(folder)
    assert (played.facts.steps, len(steps)) == (3 + 4, FREE_NOTES + 3 + 4)
    assert [step["action"] for step in steps if not step["action"]] == [{}, {}]
    # What was sent is kept beside the action as JSON, where a control is a word of six characters.
    assert [step["sent"] for step in steps if "u001b" in step["sent"]] == [r'{"action": "note", "text": "\u001b[2J"}']
    assert "x1b" not in repr(steps)
    assert "u001b" not in json.dumps([{**step, "sent": ""} for step in steps])
