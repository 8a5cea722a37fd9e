"""The records of a rollout: its steps, pages and pictures, and its log in the forms that other programs read."""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any

from arena_kit.rollout.loop import FREE_NOTES
from core.duels.selectors import NotStored, file_open
from core.models import Rollout
from core.version import arena_version

MOST_STEPS_BYTES, MOST_CHANGES_BYTES = 256 << 20, 256 << 20
ATIF_VERSION = "ATIF-v1.8"


def steps_of(rollout: Rollout, *, after: int = 0, most: int | None = None) -> list[dict[str, Any]]:
    """Return steps of a rollout. after: the number before the first. most: None for all. As `steps_read`."""
    return list(islice(steps_read(rollout, after=after), most))


def steps_read(rollout: Rollout, *, after: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the steps of a rollout one by one, from the row while it runs. after: the number before the first.

    All texts may hold words of agents and of pages. Raises NotStored.
    """
    if not rollout.steps:
        yield from (step for step in (rollout.live or {}).get("steps", ()) if step["number"] > after)
        return
    # Steps are numbered by their lines, so those before are passed over unread.
    for line in islice(_lines(rollout) if may_have_step(rollout, after + 1) else (), after, None):
        yield json.loads(line)


def may_have_step(rollout: Rollout, number: int) -> bool:
    """Return whether a log may hold a step of this number, without reading it: free notes are lines but no steps."""
    return number <= rollout.step_count + FREE_NOTES


def last_step(rollout: Rollout) -> int:
    """Return the number of the last step, 0 without steps. Raises NotStored."""
    if not rollout.steps:
        steps = (rollout.live or {}).get("steps", ())
        return int(steps[-1]["number"]) if steps else 0
    return sum(1 for _ in _lines(rollout))


def _lines(rollout: Rollout) -> Iterator[bytes]:
    """Yield the lines of a stored log; no more of it is in memory at once."""
    with file_open(rollout.steps, "The steps of this rollout are") as file, gzip.open(file) as unpacked:
        left = MOST_STEPS_BYTES
        try:
            while line := unpacked.readline(left):
                left -= len(line)
                # A line that the limit cuts is left out.
                if left or line.endswith(b"\n"):
                    yield line
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise NotStored("The steps of this rollout cannot be read.") from None


def page_of(rollout: Rollout, sha256: str) -> str:
    """Return a snapshot by its hash. Raises NotStored."""
    return _packed(rollout, f"{sha256}.txt").decode("utf-8", "replace")


def picture_of(rollout: Rollout, name: str) -> tuple[bytes, str]:
    """Return a picture and its type, by the name that its step has. Raises NotStored."""
    return _packed(rollout, name), "image/webp" if name.endswith(".webp") else "image/png"


@dataclass(frozen=True, slots=True)
class StateChange:
    """A row or a file that an agent has left otherwise than it was. key: of the row. cells: name, before, after."""

    kind: str
    where: str
    key: tuple[tuple[str, str], ...]
    cells: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class StateChanges:
    """The changes of a rollout. counts: all changes by table or file, those that were not written down included."""

    counts: Mapping[str, int]
    changes: tuple[StateChange, ...]

    @property
    def total(self) -> int:
        """How many changes there are."""
        return sum(self.counts.values())


def changes_of(rollout: Rollout) -> StateChanges:
    """Return what a rollout has changed in its application. Raises NotStored."""
    with file_open(rollout.changes, "The changes of this rollout are") as file:
        try:
            found = json.loads(file.read(MOST_CHANGES_BYTES))
        except ValueError:
            raise NotStored("The changes of this rollout cannot be read.") from None
    return StateChanges(
        found["counts"],
        tuple(
            StateChange(each["kind"], each["where"], tuple(map(tuple, each["key"])), tuple(map(tuple, each["cells"])))
            for each in found["changes"]
        ),
    )


def dashboard_log(rollout: Rollout, steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the log in the form of the older dashboard."""
    return {
        "rollout_id": str(rollout.public_id),
        "task_id": rollout.task.name,
        "started_at": _moment(rollout.started_at),
        "completed_at": _moment(rollout.ended_at),
        "error": rollout.public_error or None,
        "total_steps": rollout.step_count,
        "steps": [
            {
                "step_number": step["number"],
                "timestamp": step["at_ms"] / 1000,
                "reasoning": step["note"],
                "function_calls": _calls(step),
                "screenshot_path": step.get("picture") or None,
                "error": step["error"] or None,
            }
            for step in steps
        ],
        "final": {"parsed_output": rollout.answer, "is_final": rollout.is_over},
    }


def atif_trajectory(rollout: Rollout, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the trajectory in the Agent Trajectory Interchange Format (schema 1.8)."""
    model = str(rollout.batch.model) if rollout.batch.model is not None else None
    listed: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": rollout.task.instruction}]
    before = (0, 0)
    # A step has the page that was seen before it; what came of its action is on the page of the next one.
    for place, (step, then) in enumerate(zip_longest(steps, steps[1:]), start=2):
        tokens, cost = step["tokens"] - before[0], step["cost_micros"] - before[1]
        before = step["tokens"], step["cost_micros"]
        call_id = f"call-{step['number']}"
        entry: dict[str, Any] = {"step_id": place, "source": "agent", "message": step["note"]}
        if model:
            entry["model_name"] = model
        if step["action"]:
            call = _call(step["action"])
            entry["tool_calls"] = [{"tool_call_id": call_id, "function_name": call["name"], "arguments": call["args"]}]
            said = step["error"] or (f"{then['title']} {then['url']}".strip() if then else "")
            entry["observation"] = {"results": [{"source_call_id": call_id, "content": said}]}
        # Only the sum of a step's tokens is known, not the split into input and output.
        entry["metrics"] = {"cost_usd": cost / 1e6, "extra": {"tokens": tokens}}
        if not model:
            entry["llm_call_count"] = 0
        listed.append(entry)
    return {
        "schema_version": ATIF_VERSION,
        "session_id": str(rollout.public_id),
        "agent": {"name": rollout.batch.agent_name, "version": arena_version(), "model_name": model},
        "steps": listed,
        "final_metrics": {
            "total_prompt_tokens": rollout.tokens_in,
            "total_completion_tokens": rollout.tokens_out,
            "total_cached_tokens": rollout.tokens_cached,
            "total_cost_usd": rollout.cost_micros / 1e6,
            "total_steps": len(listed),
        },
        "extra": {"task": rollout.task.name, "outcome": rollout.outcome, "score": rollout.score},
    }


def _call(action: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": action["action"], "args": {name: value for name, value in action.items() if name != "action"}}


def _calls(step: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the call of a step as its agent has sent it, with the name and arguments of the older dashboard."""
    with suppress(ValueError, AttributeError):
        sent = json.loads(step.get("sent", ""))
        if isinstance(sent.get("name"), str):
            return [{"name": sent["name"], "args": sent.get("args", {})}]
    return [_call(step["action"])] if step["action"] else []


def _moment(moment: Any) -> str | None:
    return moment.isoformat() if moment is not None else None


def _packed(rollout: Rollout, name: str) -> bytes:
    with file_open(rollout.pages, "The pages of this rollout are") as file, zipfile.ZipFile(file) as archive:
        try:
            return archive.read(name)
        except KeyError:
            raise NotStored("This page is not there.") from None
