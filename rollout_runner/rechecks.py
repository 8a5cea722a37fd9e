"""Judges kept rollouts again, at any time, and plays their actions again in fresh worlds."""

from __future__ import annotations

import logging
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from arena_kit.environment.records import Fault
from arena_kit.errors import PlatformFault
from arena_kit.rollout.judge import TaskVerdict
from arena_kit.rollout.loop import RolloutHost
from arena_kit.rollout.play import rollout_replay
from arena_kit.rollout.recording.record import RecordRefused, record_judge
from arena_kit.rollout.worlds.built import BuiltPackage
from arena_kit.rollout.worlds.stored import built_of
from core.files.removed import REMOVED
from core.jobs.messages import task_request
from core.models import PackageBuild, Rollout, Task, User, VerdictReason
from core.rollouts.judging import JUDGE_TASK, NEEDED, judging_answer, judgings_asked
from core.rollouts.packages import package_built
from core.rollouts.reading import task_of
from core.rollouts.selectors import of_task
from core.rollouts.services import verdict_add, verdict_adopt
from rollout_runner.building import fresh_of
from rollout_runner.host import browser_host, worlds
from rollout_runner.working import FILES

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rechecked:
    """The result of judging again. agrees: the verdict is the stored one. is_changed: the row has the new one now."""

    verdict: TaskVerdict
    agrees: bool
    is_changed: bool = False
    differences: tuple[str, ...] = ()


def rollout_judge_again(
    *, rollout: Rollout, folder: Path, by_newest_task: bool = False, made_by: User | None = None
) -> Rechecked:
    """Judge a rollout by its kept export, and add the verdict to its history. Raises RecordRefused and PlatformFault.

    folder: an empty one. by_newest_task: judge by the current revision of its task, whose verdict then counts.
    """
    row = _task(rollout, by_newest_task=by_newest_task)
    record_fetch(rollout, folder)
    verdict = record_judge(folder, _package(rollout), task_of(row))
    if verdict.fault is Fault.PLATFORM:
        raise PlatformFault(verdict.sentence, code=verdict.code)
    reason = VerdictReason.TASK_CHANGED if row.work_sha256 != rollout.task.work_sha256 else VerdictReason.AGAIN
    agrees = (verdict.outcome.value, round(verdict.score, 9)) == (rollout.outcome, round(rollout.score or 0.0, 9))
    added = verdict_add(rollout=rollout, task=row, verdict=verdict, reason=reason, made_by=made_by)
    return Rechecked(verdict, agrees, not agrees and verdict_adopt(verdict=added))


def rollouts_judge(_: int = 0) -> None:
    """Make the verdicts that organisers have asked for; a request stays until it has its answer."""
    for rollout in judgings_asked():
        error, by_newest_task = "", rollout.judging_asked == VerdictReason.TASK_CHANGED
        try:
            with tempfile.TemporaryDirectory() as folder:
                rollout_judge_again(
                    rollout=rollout,
                    folder=Path(folder),
                    by_newest_task=by_newest_task,
                    made_by=rollout.judging_asked_by,
                )
        except (RecordRefused, PlatformFault) as refusal:
            error = str(refusal)
        # One that cannot be read must not stand in the way of the others.
        except Exception:
            logger.exception("Rollout %d could not be judged again.", rollout.pk)
            error = "The arena could not judge it again; the log of its workers says why."
        judging_answer(rollout=rollout, error=error)


def judgings_request() -> None:
    """Ask a worker for the verdicts that are still to be made, in case the message was lost. Once a minute."""
    if judgings_asked():
        task_request(settings.ROLLOUT_QUEUE, JUDGE_TASK)


def rollout_play_again(
    *, rollout: Rollout, package: BuiltPackage, folder: Path, made_by: User | None = None
) -> Rechecked:
    """Play the recorded actions in a fresh world, and compare what they leave. Raises as `rollout_judge_again`.

    package: with images on this host. folder: an empty one. The verdict is added to the history; it changes nothing.
    """
    kept, again = folder / "kept", folder / "again"
    for path in (kept, again):
        path.mkdir()
    record_fetch(rollout, kept)
    host = RolloutHost(worlds(), browser_host(), video=False)
    found = rollout_replay(host, package, task_of(rollout.task), kept, again)
    verdict = found.played.verdict
    if verdict.fault is Fault.PLATFORM:
        raise PlatformFault(verdict.sentence, code=verdict.code)
    verdict_add(rollout=rollout, task=rollout.task, verdict=verdict, reason=VerdictReason.REPLAY, made_by=made_by)
    return Rechecked(verdict, verdict.outcome.value == rollout.outcome, False, found.differences)


def build_of(rollout: Rollout) -> PackageBuild:
    """Return the build that a rollout worked with. Raises RecordRefused without it."""
    build = package_built(rollout.package, rollout.seed)
    if build is None:
        raise RecordRefused(f"{rollout.package} is no longer built.", code="no_package")
    return build


def record_fetch(rollout: Rollout, folder: Path) -> None:
    """Copy what a rollout is judged by from the store into a folder. Raises RecordRefused for what is gone."""
    for field in NEEDED:
        stored = getattr(rollout, field)
        if not stored:
            continue
        if stored.name.startswith(REMOVED):
            raise RecordRefused(f"The {field} of this rollout is no longer kept.", code="not_kept")
        try:
            with stored.open("rb") as source, (folder / FILES[field]).open("wb") as target:
                shutil.copyfileobj(source, target)
        except OSError as error:
            raise RecordRefused(f"The {field} of this rollout is not stored: {error}", code="not_kept") from None


def _package(rollout: Rollout) -> BuiltPackage:
    build = build_of(rollout)
    return built_of(build.built, fresh=fresh_of(build))


def _task(rollout: Rollout, *, by_newest_task: bool) -> Task:
    if not by_newest_task:
        return rollout.task
    return Task.objects.select_related("environment", "file").get(of_task(rollout.task), is_current=True)
