"""Retries the write of a job's result while the database does not answer."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable
from typing import ParamSpec

from django.db import DatabaseError, Error, InterfaceError, OperationalError, connection

from core.jobs.kinds import LOST_CODE
from core.jobs.states import OPEN, StaleJob
from core.models import Job, JobState

logger = logging.getLogger(__name__)
Named = ParamSpec("Named")

WRITE_AGAIN_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Pauses between attempts to write a result while the database does not answer."""


def written_once(write: Callable[Named, None]) -> Callable[Named, None]:
    """Retry the write of a job's result while the database does not answer: that costs less than playing again.

    write: takes a running job and everything else by name, and writes in one transaction, by `transition`. So the
    result is never written twice: if only the answer to a COMMIT was lost, the row has the result. `job_succeed` and
    `job_fail` retry by themselves; inside a caller's transaction, only the caller can retry.
    """

    @functools.wraps(write)
    def patient(*arguments: Named.args, **named: Named.kwargs) -> None:
        job = next(value for value in named.values() if isinstance(value, Job))
        # Inside a caller's transaction a retry is useless.
        pauses = iter(() if connection.in_atomic_block else WRITE_AGAIN_SECONDS)
        was_away = False
        while True:
            try:
                return write(*arguments, **named)
            except StaleJob:
                ended = type(job)._base_manager.filter(pk=job.pk, claim_token=job.claim_token)
                # A last attempt whose lease expired meanwhile ended without this result.
                ended = ended.exclude(error_code=LOST_CODE)
                if was_away and ended.exclude(state__in=OPEN).exists():
                    return None
                raise
            except Error as error:
                # Drivers raise a bare DatabaseError when a connection breaks in the middle of an answer.
                is_away = isinstance(error, OperationalError | InterfaceError) or type(error) is DatabaseError
                if not is_away or (pause := next(pauses, None)) is None:
                    raise
                logger.warning("The result of %s %s could not be written yet: %s", job.KIND, job.pk, error)
                was_away, job.state = True, JobState.RUNNING
                connection.close()
                time.sleep(pause)

    return patient
