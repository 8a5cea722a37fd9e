"""Applications for tests: a package that reads well, tasks, batches and rollouts, made by the services themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings

from arena_kit.environment.records import Fault
from arena_kit.rollout.agents.meter import Usage
from arena_kit.rollout.attempt import Work
from arena_kit.rollout.checks.evidence import SUCCESS
from arena_kit.rollout.judge import CheckResult as Judged
from arena_kit.rollout.judge import EndedBy, TaskOutcome, TaskVerdict
from arena_kit.zips import zip_bytes
from core.models import (
    Agent,
    Batch,
    Environment,
    JobState,
    LanguageModel,
    Package,
    PackageBuild,
    Rollout,
    RolloutAgent,
    Submission,
    Task,
    User,
    WorldLease,
)
from core.rollouts.batches import AgentChoice, Options, batch_create
from core.rollouts.leases import world_opened
from core.rollouts.packages import package_build_succeed, package_upload
from core.rollouts.services import JudgedRollout, rollout_finish
from core.rollouts.tasks import tasks_upload
from core.tests import factories

COMPOSE = """
services:
  web: {image: "base:python", files: services/web, command: [python3, server.py], expose: [8000], mem_limit: 128m}
"""
MANIFEST: Mapping[str, Any] = {
    "slug": "desk", "name": "Desk", "description": "A small desk.", "origins": ["http://web:8000"],
    "logins": {"clerk": {"url": "/login", "fields": {"label=Password": "not-for-everyone"}}},
    "exports": [{"service": "web", "files": "/export"}],
}  # fmt: skip
ORACLE = [["goto", "/"], ["answer", 42]]
TASKS: Sequence[Mapping[str, Any]] = (
    {"id": "count", "task": "Count the letters.", "answer": 42, "oracle": ORACLE, "tags": ["read"]},
    {"id": "open", "task": "Look around."},
    {"id": "rank", "task": "Count the stamps.", "answer": 7, "split": "RANKING"},
    {"id": "secret", "task": "Count the spies.", "answer": 3, "split": "HIDDEN"},
)
MEMBERS = override_settings(ROLLOUTS="members")


def packed(*, tasks: Sequence[Mapping[str, Any]] | None = TASKS, **keys: Any) -> SimpleUploadedFile:
    """A package as a zip. keys: of its manifest."""
    files = {
        "environment.yml": yaml.safe_dump({**MANIFEST, **keys}),
        "compose.yml": COMPOSE,
        "services/web/server.py": "print()",
        **({} if tasks is None else {"tasks.json": json.dumps(list(tasks))}),
    }
    return SimpleUploadedFile("package.zip", zip_bytes((name, text.encode()) for name, text in files.items()))


def package(*, is_built: bool = True, note: str = "", **changes: Any) -> Package:
    """A package of the application desk with its tasks, uploaded by the organiser olga."""
    with MEMBERS:
        found, _ = package_upload(owner=organiser(), archive=packed(**changes), note=note)
        if is_built:
            built(found)
    return found


def organiser() -> User:
    return User.objects.filter(username="olga").first() or factories.user("olga", is_staff=True, is_superuser=True)


def built(package: Package) -> PackageBuild:
    """Its open build, which succeeds. No worker has made any image."""
    build = package.builds.get(state=JobState.QUEUED)
    running(build)
    fresh = default_storage.save(f"{build.KIND}s/{build.pk}/fresh.zip", ContentFile(b"zip"))
    package_build_succeed(build=build, built={"schema": 1}, fresh=fresh, state_digest="d" * 64, log="")
    return build


def running(job: Any) -> Any:
    """A job as a worker has just claimed it."""
    factories.moved(type(job).objects.filter(pk=job.pk), JobState.RUNNING, attempt=1)
    job.refresh_from_db()
    return job


def tasks(environment: Environment, *keys: str) -> list[Task]:
    rows = environment.tasks.filter(is_current=True).select_related("file").order_by("pk")
    return [row for row in rows if not keys or row.key in keys]


def uploaded(owner: User, environment: Environment, *found: Mapping[str, Any]) -> list[Task]:
    """Tasks of a file of their own."""
    with MEMBERS:
        return list(tasks_upload(owner=owner, environment=environment, data=json.dumps(found).encode()).written)


def model(name: str = "mimic", **fields: Any) -> LanguageModel:
    given = {"url": "https://models.invalid/v1", "model_id": name, "users": "MEMBERS", **fields}
    return LanguageModel.objects.create(name=name, **given)


def batch(
    owner: User, environment: Environment, *keys: str, attempts: int = 1, choice: AgentChoice | None = None
) -> Batch:
    """A batch of an agent that does nothing, if no other is chosen."""
    with MEMBERS:
        return batch_create(
            owner=owner,
            environment=environment,
            tasks=tasks(environment, *keys),
            agent=choice or AgentChoice(RolloutAgent.NULL),
            options=Options(attempts=attempts),
        )


def version(agent: Agent) -> Submission:
    """A version of an agent whose image was made."""
    found = factories.submission(agent)
    factories.build(found)
    Submission.objects.filter(pk=found.pk).update(image="image", image_digest="sha256:1")
    found.refresh_from_db()
    return found


def finished(rollout: Rollout, outcome: str = "SOLVED", *, cost: int = 0, **files: str) -> Rollout:
    """A rollout that a worker has carried out. outcome: of its verdict; FAULT for an agent that broke."""
    running(rollout)
    if outcome == "FAULT":
        verdict = TaskVerdict(TaskOutcome.NOT_SOLVED, Fault.PLAYER, 0.0, "died", "The agent died.")
    else:
        code = "" if outcome == "SOLVED" else "check_failed"
        check = {"kind": "answer", "passed": not code, "required": True, "weight": 1.0, "expected": "42", "actual": "7"}
        score = {"SOLVED": 1.0, "PARTIAL": 0.5}.get(outcome, 0.0)
        verdict = _with_checks(
            TaskVerdict(TaskOutcome(outcome), Fault.NONE, score, code, code and "7 is not 42"), check
        )
    ended_by = EndedBy.AGENT_FAULT if outcome == "FAULT" else EndedBy.DONE
    result = JudgedRollout(
        verdict=verdict, work=Work(42, SUCCESS, ended_by), usage=Usage(100, 10, 0, cost, 2), steps=3, seconds=4.0,
        agent_seconds=1.0, provision_seconds=2.0, record_sha256="r" * 64,
    )  # fmt: skip
    rollout_finish(rollout=rollout, result=result, artifacts=files, log="")
    rollout.refresh_from_db()
    return rollout


def everything(owner: User) -> Rollout:
    """A row of every kind: a package that was built, tasks, a model, a batch, a rollout with a verdict, a world."""
    known = WorldLease.objects.filter(token="anna").first()  # the name of a world
    if known is not None:
        return known.rollout
    environment = package(note="anna's desk").environment
    model("anna")
    rollout = finished(batch(owner, environment, "count").rollouts.get())
    world_opened(
        token="anna",
        rollout=rollout,
        host="h",
        worker="h:1",
        memory_bytes=1,
        deadline=2e9,
    )
    return rollout


def _with_checks(verdict: TaskVerdict, check: Mapping[str, Any]) -> TaskVerdict:
    return replace(verdict, checks=(Judged(**check),))
