"""What checking a duel and checking an evaluation share: the verdict, and players that play once more."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.conf import settings

from arena_kit.environment.episodes import EvaluationRecord
from arena_kit.environment.records import DuelRecord
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.referee.recheck.mismatch import CannotCheck, Mismatch
from arena_kit.sandbox.base import Container, Launch, Sandbox
from arena_kit.sandbox.cores import free_core
from arena_kit.sandbox.lock_file import Presence
from core.duels.selectors import NotKept, NotStored
from core.duels.verdicts import verdict_keep
from core.jobs.worker import PlatformFault
from core.models import Duel, Environment, Evaluation, Submission, Verdict
from duel_runner.rules import rules
from duel_runner.workplace import worker_label

SHOWN_MISMATCHES = 3
Record = TypeVar("Record", DuelRecord, EvaluationRecord)


@dataclass(frozen=True, slots=True)
class Audit(Generic[Record]):
    """What came of checking a result. record: None when it cannot be read; then the one mismatch says why.

    checked: for people, what was looked at.
    """

    record: Record | None
    mismatches: list[Mismatch]
    checked: str = ""

    @property
    def verification(self) -> str:
        """What the row says about it."""
        if not self.mismatches:
            return self.checked
        sentences = [str(mismatch) for mismatch in self.mismatches[:SHOWN_MISMATCHES]]
        if (more := len(self.mismatches) - SHOWN_MISMATCHES) > 0:
            sentences.append(f"And {more} more.")
        return " ".join(sentences)


def audit_keep(job: Duel | Evaluation, look: Callable[[EnvironmentSpec], Audit[Record]]) -> Audit[Record]:
    """Check a finished job and keep the verdict. look: what does so, given its rules; may raise NotStored.

    Raises PlatformFault when it cannot be checked here: rules or records are gone, packages are missing or others.
    """
    audit: Audit[Record]
    try:
        audit = look(rules(job))
    except NotKept as gone:
        # What was found while it was there still holds.
        raise PlatformFault(str(gone), code="cannot_check") from gone
    except NotStored as missing:
        audit = Audit(None, [Mismatch(None, str(missing))])
    except (PlatformFault, CannotCheck) as reason:
        verdict_keep(job=job, verdict=Verdict.UNCHECKABLE, verification=str(reason))
        raise PlatformFault(str(reason), code="cannot_check") from reason
    verdict = Verdict.MISMATCH if audit.mismatches else Verdict.VERIFIED
    verdict_keep(job=job, verdict=verdict, verification=audit.verification)
    return audit


def row_faults(job: Duel | Evaluation, recorded: dict[str, object]) -> Iterator[Mismatch]:
    """What a row says otherwise than its record. recorded: by field."""
    for name, value in recorded.items():
        kept = getattr(job, name)
        if rounded(kept) == rounded(value):
            continue
        if isinstance(value, list):
            yield Mismatch(None, f"The {job.KIND}'s row lists its {name} otherwise than its record.")
        else:
            yield Mismatch(None, f"The {job.KIND}'s row says {name} {kept!r}, its record {value!r}.")


def rounded(value: Any) -> Any:
    """A value to compare: versions of Python and NumPy add floats up differently in the last digit."""
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


@dataclass(frozen=True, slots=True)
class Table:
    """A sandbox with a core of its own, where players play once more."""

    sandbox: Sandbox
    core: int | None
    presence: Presence
    """As a worker has one: what is left when this process is killed is removed by the others."""
    environment: Environment
    _numbers: Iterator[int]

    def launch(self, submission: Submission, digest: str) -> Container:
        """Start a player as it was started then, with today's limits. digest: empty when none was kept."""
        return self.sandbox.launch(
            Launch(
                # An image that is named by its digest is that image or none.
                image=digest or submission.image,
                name=f"arena-{self.presence.token[:12]}-{next(self._numbers)}",
                limits=self.environment.limits,
                labels={worker_label(): self.presence.token},
                core=self.core,
                fresh=submission.needs_fresh_container,
            )
        )


@contextlib.contextmanager
def table(environment: Environment, arena: Sandbox) -> Iterator[Table]:
    """Where a job is played again, outside the workers' own. Raises SandboxError."""
    with contextlib.ExitStack() as stack:
        presence = Presence(settings.CHANNEL_DIR)
        stack.callback(presence.end)
        core = stack.enter_context(free_core(settings.CHANNEL_DIR))
        arena.check()
        yield Table(arena, core, presence, environment, itertools.count(1))
