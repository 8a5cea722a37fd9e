"""What is counted, and when: always after the commit that made it true. Scraped by core.operations.exposition.

Names without a word of ours are those of the systems before: dashboards and alerts that exist know them. A label has
few values: ids of environments are those of rows, reasons and codes are words of the code, views have names.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import ParamSpec

from django.conf import settings
from django.db import transaction
from prometheus_client import Counter, Histogram

from core.errors import Refused
from core.operations.count_files import count_in

logger = logging.getLogger(__name__)
Arguments = ParamSpec("Arguments")

# A metric opens its file when it is made: this comes first.
FOLDER = count_in(settings.METRICS_DIR)

EVALUATION_BUCKETS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
ANSWER_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MOST_WORDS = 500
"""Different values of one label at most; what comes after them is OTHER."""
OTHER = "other"
NO_FILE, BAD_FORM = "no_file", "form"
"""Reasons of refused uploads: without a file, and with something else that a form says at once."""
SCRIPT_ERROR, UNEXPECTED = "script_error", "unexpected_exception"
"""Reasons of failed evaluations that the systems before knew."""
ENGINE_CODES = frozenset({
    "engine_unavailable", "engine_refused", "runtime_missing", "image_missing", "base_image_missing",
    "container_failed", "container_removed",
})  # fmt: skip
"""Platform faults that are the container engine's."""

SUBMISSIONS_RECEIVED = Counter("submissions_received_total", "New submissions: single, multi or zip.", ["mode"])
VALIDATION_FAILURES = Counter("submissions_validation_failures_total", "Uploads refused, by the reason.", ["reason"])
UPLOAD_BYTES = Counter("submissions_upload_bytes_total", "Bytes of the archives of new submissions.")
EVALUATION_STARTED = Counter("evaluation_started_total", "Evaluations begun, every attempt.")
EVALUATION_COMPLETED = Counter("evaluation_completed_total", "Evaluations that gave a score.", ["env_id"])
EVALUATION_FAILED = Counter("evaluation_failed_total", "Evaluations that failed for good.", ["reason"])
EVALUATION_DURATION = Histogram(
    "evaluation_duration_seconds",
    "From the claim of an evaluation to its score.",
    ["env_id"],
    buckets=EVALUATION_BUCKETS,
)
LEADERBOARD_QUERIES = Counter("leaderboard_queries_total", "Boards asked for, pages and API.", ["env_id", "sort"])
LEADERBOARD_DURATION = Histogram(
    "leaderboard_query_duration_seconds", "Until a board was there, from the cache or not.", buckets=ANSWER_BUCKETS
)
JOBS_STARTED = Counter("jobs_started_total", "Jobs claimed by a worker, every attempt.", ["kind"])
JOBS_FINISHED = Counter("jobs_finished_total", "Jobs in a final state.", ["kind", "state", "fault"])
JOBS_GIVEN_BACK = Counter("jobs_given_back_total", "Running jobs that went back to their queue.", ["kind", "reason"])
JOBS_REFUSED = Counter("jobs_refused_total", "Attempts whose result came too late and was refused.", ["kind"])
JOB_DURATION = Histogram(
    "job_duration_seconds", "From the claim of a job to its end.", ["kind"], buckets=EVALUATION_BUCKETS
)
PLATFORM_FAULTS = Counter("platform_faults_total", "Attempts that the arena itself failed.", ["kind", "code"])
ENGINE_ERRORS = Counter("engine_errors_total", "Those that the container engine failed.", ["code"])
DUELS_PLAYED = Counter("duels_played_total", "Duels whose result was written.", ["env_id"])
MATCHES_PLAYED = Counter("matches_played_total", "Matches and episodes of finished jobs.", ["kind", "env_id"])
MOVES_PLAYED = Counter("moves_played_total", "Moves in them, of all seats.", ["kind", "env_id"])
REQUESTS = Counter("http_requests_total", "Answers, by the name of the view.", ["handler", "method", "status"])
REQUEST_DURATION = Histogram(
    "http_request_duration_seconds", "Until the answer began.", ["handler", "method"], buckets=ANSWER_BUCKETS
)


# There from the start: who looks for a rise has to see it begin at 0.
for _mode in ("single", "multi", "zip"):
    SUBMISSIONS_RECEIVED.labels(_mode)
for _reason in (NO_FILE, "empty_filename", "no_py", "missing_main", "main_not_py", "not_py"):
    VALIDATION_FAILURES.labels(_reason)
for _reason in (SCRIPT_ERROR, UNEXPECTED):
    EVALUATION_FAILED.labels(_reason)


class Words:
    """The values that a label has had; a mistake in the code cannot give it more than so many."""

    def __init__(self) -> None:
        self._known, self._lock = set[str](), threading.Lock()

    def of(self, word: str) -> str:
        """The word itself, or OTHER when there were too many before."""
        word = word[:50] or OTHER
        with self._lock:
            if word not in self._known and len(self._known) >= MOST_WORDS:
                return OTHER
            self._known.add(word)
        return word


_reasons, _handlers = Words(), Words()


def _harmless(count: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Count at once; what goes wrong is said in the log and harms nobody."""

    @wraps(count)
    def safely(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            count(*args, **kwargs)
        except Exception:
            logger.warning("Something was not counted.", exc_info=True)

    return safely


def _after_commit(count: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Count once the surrounding transaction has committed, at once where there is none; harm nobody."""
    safely = _harmless(count)

    @wraps(count)
    def later(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        transaction.on_commit(partial(safely, *args, **kwargs))

    return later


def upload_mode(names: Sequence[str]) -> str:
    """How an upload came, by the names of its files: zip, single or multi."""
    if any(name.lower().endswith(".zip") for name in names):
        return "zip"
    return "single" if len(names) == 1 else "multi"


@_after_commit
def submission_received(*, mode: str, archive_bytes: int) -> None:
    """A new submission: mode `single` for one script, `multi` for several files, `zip` for an archive."""
    SUBMISSIONS_RECEIVED.labels(_reasons.of(mode)).inc()
    UPLOAD_BYTES.inc(archive_bytes)


@_harmless
def upload_refused(reason: str) -> None:
    """An upload that was not taken."""
    VALIDATION_FAILURES.labels(_reasons.of(reason)).inc()


@contextmanager
def refusals_counted() -> Iterator[None]:
    """Count what a service refuses of an upload, by its code, or else by the field that it is about."""
    try:
        yield
    except Refused as refusal:
        upload_refused(refusal.code if refusal.code != "refused" else refusal.field or refusal.code)
        raise


@_after_commit
def job_moved(*, kind: str, to: str, fault: str, code: str, is_verified: bool, seconds: float | None) -> None:
    """A job has changed its state.

    is_verified: False for the run of a script. seconds: since it was claimed, None where this process did not claim it.
    """
    if to == "RUNNING":
        JOBS_STARTED.labels(kind).inc()
        if kind == "evaluation":
            EVALUATION_STARTED.inc()
        return
    if fault == "PLATFORM":
        PLATFORM_FAULTS.labels(kind, _reasons.of(code)).inc()
        if code in ENGINE_CODES:
            ENGINE_ERRORS.labels(code).inc()
    if to == "QUEUED":
        JOBS_GIVEN_BACK.labels(kind, _reasons.of(code)).inc()
        return
    JOBS_FINISHED.labels(kind, to, fault).inc()
    if seconds is not None:
        JOB_DURATION.labels(kind).observe(seconds)
    if kind == "evaluation" and to == "FAILED":
        own = code if is_verified else SCRIPT_ERROR
        EVALUATION_FAILED.labels(_reasons.of(UNEXPECTED if fault == "PLATFORM" else own)).inc()


@_harmless
def job_refused(*, kind: str) -> None:
    """A worker had lost its job: it was given to another one, or cancelled."""
    JOBS_REFUSED.labels(kind).inc()


@_after_commit
def evaluation_completed(*, env_id: str, seconds: float | None) -> None:
    """An evaluation has given a score."""
    EVALUATION_COMPLETED.labels(env_id).inc()
    if seconds is not None:
        EVALUATION_DURATION.labels(env_id).observe(seconds)


@_after_commit
def matches_played(*, kind: str, env_id: str, matches: int, moves: int) -> None:
    """What a finished duel, validation or evaluation has played. Called once for all its matches."""
    if kind == "duel":
        DUELS_PLAYED.labels(env_id).inc()
    MATCHES_PLAYED.labels(kind, env_id).inc(matches)
    MOVES_PLAYED.labels(kind, env_id).inc(moves)


@_harmless
def leaderboard_asked(*, env_id: str, sort: str, seconds: float) -> None:
    """A board was asked for."""
    LEADERBOARD_QUERIES.labels(env_id, sort).inc()
    LEADERBOARD_DURATION.observe(seconds)


@_harmless
def request_answered(*, handler: str, method: str, status: int, seconds: float) -> None:
    """A request was answered."""
    REQUESTS.labels(_handlers.of(handler), method, str(status)).inc()
    REQUEST_DURATION.labels(_handlers.of(handler), method).observe(seconds)
