"""The record of a rollout: what it was, what was done, what is left, and every verdict about it."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena_kit.errors import Refused
from arena_kit.rollout.attempt import Attempt, Work, attempt_judge
from arena_kit.rollout.exports.diff import state_diff
from arena_kit.rollout.exports.requests import requests_in
from arena_kit.rollout.exports.state import MOST_BYTES, ExportRefused
from arena_kit.rollout.judge import JUDGE_VERSION, EndedBy, TaskVerdict
from arena_kit.rollout.recording.recorder import HAR, RUNNING, STEPS
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.values.paths import NOTHING
from arena_kit.rollout.values.strict_json import canonical
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.zips import zip_bytes

RECORD, VERDICTS, EXPORT, WORLD_LOG = "rollout.json", "verdicts.jsonl", "export.zip", "world.log"
CHANGES = "changes.json"
FIRST, AGAIN, TASK_CHANGED = "first", "again", "task changed"
MOST_RECORD_BYTES = 64 << 20


class RecordRefused(Refused):
    """A folder that holds no record of a rollout, or a wrong one."""


@dataclass(frozen=True, slots=True)
class RolloutFacts:
    """The facts of a rollout besides its task and package. agent, model: names for people."""

    agent: str
    model: str = ""
    steps: int = 0
    seconds: float = 0.0
    agent_seconds: float = 0.0
    tokens: int = 0
    cost_micros: int = 0


def record_write(
    folder: Path, package: BuiltPackage, task: Task, attempt: Attempt, facts: RolloutFacts
) -> Mapping[str, Any]:
    """Write the record, the export, what has changed and the first verdict of a rollout; return the record."""
    work, steps = attempt.work, steps_in(folder)
    record: dict[str, Any] = {
        "schema": 1,
        "package": {
            "slug": package.slug,
            "sha256": package.sha256,
            "seed": package.seed,
            "digest": package.digest,
            "images": {each.service.name: each.image for each in package.services},
        },
        "task": {"key": task.key, "work_sha256": task.work_sha256, "fingerprint": task.fingerprint},
        "agent": {"name": facts.agent, "model": facts.model},
        "actions": [step["action"] for step in steps],
        "answer": None if work.answer is NOTHING else work.answer,
        "has_answer": work.answer is not NOTHING,
        "status": work.status,
        "ended_by": work.ended_by.value,
        "fault_code": work.fault_code,
        "last_url": work.last_url,
        "last_page": work.last_page,
        "names": None if work.actions is None else list(work.actions),
        "export": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(attempt.files.items())},
        "export_digest": export_digest(package, attempt.files),
    }
    record["record_sha256"] = record_sha256(record)
    # What differs from one playing to the next is not part of the hash.
    record["facts"] = {
        "steps": facts.steps,
        "seconds": round(facts.seconds, 3),
        "agent_seconds": round(facts.agent_seconds, 3),
        "tokens": facts.tokens,
        "cost_micros": facts.cost_micros,
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    (folder / EXPORT).write_bytes(zip_bytes(attempt.files.items()))
    changes_write(folder, package, attempt.files)
    verdict_add(folder, attempt.verdict, FIRST)
    return record


def changes_write(folder: Path, package: BuiltPackage, files: Mapping[str, bytes]) -> None:
    """Write down for people how an exported state differs from that of a fresh world; nothing if it cannot be read."""
    if not files:
        return
    try:
        with package.state(package.fresh) as before, package.state(files) as after:
            found = state_diff(before, after).as_json()
    except ExportRefused:
        return
    (folder / CHANGES).write_text(json.dumps(found), encoding="utf-8")


def world_log_write(folder: Path, logs: Mapping[str, str]) -> None:
    """Write what the services have printed, each below a line with its name."""
    text = "".join(f"==> {name}\n{said}\n" for name, said in logs.items())
    (folder / WORLD_LOG).write_text(text, encoding="utf-8", errors="replace")


def record_sha256(record: Mapping[str, Any]) -> str:
    """Return the hash of all that a rollout was judged by, without times."""
    content = {name: value for name, value in record.items() if name not in ("record_sha256", "facts")}
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def export_digest(package: BuiltPackage, files: Mapping[str, bytes]) -> str:
    """Return the digest of an exported state; empty if there is none."""
    if not files:
        return ""
    try:
        with package.state(files) as state:
            return state.digest()
    except ExportRefused:
        return ""


def record_read(folder: Path) -> Mapping[str, Any]:
    """Return the record in a folder. Raises RecordRefused, also for one that was changed."""
    try:
        content = (folder / RECORD).read_bytes()
        if len(content) > MOST_RECORD_BYTES:
            raise RecordRefused("The record is too large.", code="bad_record")
        record = json.loads(content)
        if record_sha256(record) != record["record_sha256"]:
            raise RecordRefused("The record was changed: its hash is another one.", code="record_changed")
    except OSError:
        raise RecordRefused(f"{folder} has no {RECORD}.", code="bad_record") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecordRefused(f"{RECORD} cannot be read.", code="bad_record") from None
    return dict(record)


def record_judge(folder: Path, package: BuiltPackage, task: Task) -> TaskVerdict:
    """Judge a rollout again by its kept export, and add the verdict to its history. Raises RecordRefused."""
    record = record_read(folder)
    if record["package"]["sha256"] != package.sha256 or record["package"]["seed"] != package.seed:
        raise RecordRefused("The rollout was one of another package or seed.", code="other_package")
    work = Work(
        answer=record["answer"] if record["has_answer"] else NOTHING,
        status=record["status"],
        ended_by=EndedBy(record["ended_by"]),
        fault_code=record["fault_code"],
        requests=requests_in((folder / HAR).read_bytes()) if (folder / HAR).exists() else None,
        last_url=record["last_url"],
        last_page=record["last_page"],
        actions=record["names"],
    )
    verdict = attempt_judge(package, task, work, export_read(folder / EXPORT, record["export"]))
    verdict_add(folder, verdict, AGAIN if record["task"]["work_sha256"] == task.work_sha256 else TASK_CHANGED)
    return verdict


def verdict_add(folder: Path, verdict: TaskVerdict, why: str) -> None:
    """Add a verdict to the history; nothing is ever taken from it."""
    line = {"why": why, "judge_version": JUDGE_VERSION, "verdict": verdict.as_json()}
    with (folder / VERDICTS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def steps_in(folder: Path) -> list[dict[str, Any]]:
    """Return the steps of a rollout, whether it is over or not."""
    if (folder / STEPS).exists():
        text = gzip.decompress((folder / STEPS).read_bytes()).decode()
    else:
        text = (folder / RUNNING).read_text(encoding="utf-8") if (folder / RUNNING).exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def export_read(path: Path, hashes: Mapping[str, str]) -> dict[str, bytes]:
    """Return the exported files, which must be those that the record names. Raises RecordRefused."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
                raise RecordRefused(f"{EXPORT} is too large.", code="bad_record")
            files = {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        raise RecordRefused(f"{EXPORT} cannot be read.", code="bad_record") from None
    if {name: hashlib.sha256(content).hexdigest() for name, content in files.items()} != dict(hashes):
        raise RecordRefused(f"{EXPORT} does not hold what the record names.", code="record_changed")
    return files
