"""Shared parts of checking duels and evaluations: the verdict, and playing again."""

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
from arena_kit.errors import PlatformFault
from arena_kit.referee.recheck.mismatch import CannotCheck, Mismatch
from arena_kit.sandbox.base import Container, Launch, Sandbox
from arena_kit.sandbox.cores import free_core
from arena_kit.sandbox.lock_file import LockFile
from core.duels.selectors import NotKept, NotStored
from core.duels.verdicts import verdict_keep
from core.models import Duel, Environment, Evaluation, RecheckVerdict, Submission, SubmissionForm
from duel_runner.rules import rules
from duel_runner.workplace import worker_label

SHOWN_MISMATCHES = 3
Record = TypeVar("Record", DuelRecord, EvaluationRecord)


@dataclass(frozen=True, slots=True)
class Rechecked(Generic[Record]):
    """The outcome of a check. record: None if it cannot be read; the only mismatch then says why.

    checked: a description of what was compared, for people.
    """

    record: Record | None
    mismatches: list[Mismatch]
    checked: str = ""

    @property
    def verification(self) -> str:
        """The text that the job's row stores."""
        if not self.mismatches:
            return self.checked
        sentences = [str(mismatch) for mismatch in self.mismatches[:SHOWN_MISMATCHES]]
        if (more := len(self.mismatches) - SHOWN_MISMATCHES) > 0:
            sentences.append(f"And {more} more.")
        return " ".join(sentences)


def recheck_keep(job: Duel | Evaluation, look: Callable[[EnvironmentSpec], Rechecked[Record]]) -> Rechecked[Record]:
    """Check a finished job and store the verdict. look: the check itself, given the rules; may raise NotStored.

    Raises PlatformFault if it cannot be checked here: rules or records are gone, or packages are missing or differ.
    """
    recheck: Rechecked[Record]
    try:
        recheck = look(rules(job))
    except NotKept as gone:
        # A verdict from before the records were removed stays valid.
        raise PlatformFault(str(gone), code="cannot_check") from gone
    except NotStored as missing:
        recheck = Rechecked(None, [Mismatch(None, str(missing))])
    except (PlatformFault, CannotCheck) as reason:
        verdict_keep(job=job, verdict=RecheckVerdict.UNCHECKABLE, verification=str(reason))
        raise PlatformFault(str(reason), code="cannot_check") from reason
    verdict = RecheckVerdict.MISMATCH if recheck.mismatches else RecheckVerdict.VERIFIED
    verdict_keep(job=job, verdict=verdict, verification=recheck.verification)
    return recheck


def row_faults(job: Duel | Evaluation, recorded: dict[str, object]) -> Iterator[Mismatch]:
    """Return sentences on fields of a row that differ from its record. recorded: values by field."""
    for name, value in recorded.items():
        kept = getattr(job, name)
        if rounded(kept) == rounded(value):
            continue
        if isinstance(value, list):
            yield Mismatch(None, f"The {name} of the {job.KIND}'s row differ from its record.")
        else:
            yield Mismatch(None, f"The {job.KIND}'s row says {name} {kept!r}, its record {value!r}.")


def rounded(value: Any) -> Any:
    """Round floats before comparing, because versions of Python and NumPy sum them differently in the last digit."""
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


@dataclass(frozen=True, slots=True)
class RecheckSandbox:
    """A sandbox with its own core, where players play again."""

    sandbox: Sandbox
    core: int | None
    lock_file: LockFile
    """The lock file of this process, as workers have one: if it is killed, other workers clear up after it."""
    environment: Environment
    _numbers: Iterator[int]

    def launch(self, submission: Submission, digest: str) -> Container:
        """Start a player from the image of that time with today's limits. digest: empty if none was stored."""
        return self.sandbox.launch(
            Launch(
                # A digest names exactly one image.
                image=digest or submission.image,
                name=f"arena-{self.lock_file.token[:12]}-{next(self._numbers)}",
                limits=self.environment.limits,
                labels={worker_label(): self.lock_file.token},
                core=self.core,
                fresh=submission.needs_fresh_container,
                own_image=submission.form == SubmissionForm.IMAGE,
            )
        )


@contextlib.contextmanager
def recheck_sandbox(environment: Environment, arena: Sandbox) -> Iterator[RecheckSandbox]:
    """Open a sandbox to play a job again, apart from the workers'. Raises SandboxError."""
    with contextlib.ExitStack() as stack:
        lock_file = LockFile(settings.CHANNEL_DIR)
        stack.callback(lock_file.end)
        core = stack.enter_context(free_core(settings.CHANNEL_DIR))
        arena.check()
        yield RecheckSandbox(arena, core, lock_file, environment, itertools.count(1))
