"""The counters and when they count: always after the commit. core.monitoring.exposition serves them.

Names without a word of the arena are those of its predecessors, which existing dashboards and alerts know. Labels have
few values: environment ids come from rows, reasons and codes from the code, and views have names.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial, wraps
from typing import ParamSpec

from django.conf import settings
from django.db import transaction
from prometheus_client import Counter, Gauge, Histogram

from core.errors import Refused
from core.monitoring.count_files import count_in

logger = logging.getLogger(__name__)
Arguments = ParamSpec("Arguments")

# First, because a metric opens its file when it is created.
FOLDER = count_in(settings.METRICS_DIR)

EVALUATION_BUCKETS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
ANSWER_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MOST_WORDS = 2000
"""Maximum number of values of one label, twice as many as the site has views; further values count as OTHER."""
OTHER = "other"
NO_FILE, BAD_FORM = "no_file", "form"
"""Reasons of refused uploads: no file, and other errors that the form finds."""
SCRIPT_ERROR, UNEXPECTED = "script_error", "unexpected_exception"
"""Reasons of failed evaluations, named as in the arena's predecessors."""
ENGINE_CODES = frozenset(
    {
        "engine_unavailable",
        "engine_refused",
        "runtime_missing",
        "image_missing",
        "base_image_missing",
        "container_failed",
        "container_removed",
        "registry_unavailable",
        "registry_refused",
        "registry_failed",
        "registry_too_slow",
        "image_too_large",
        "image_differs",
    }
)
"""Codes of platform faults caused by the container engine or the registry of images."""

SUBMISSIONS_RECEIVED = Counter("submissions_received_total", "New submissions: single, multi or zip.", ["mode"])
VALIDATION_FAILURES = Counter("submissions_validation_failures_total", "Refused uploads, by reason.", ["reason"])
UPLOAD_BYTES = Counter("submissions_upload_bytes_total", "Bytes of the archives of new submissions.")
EVALUATION_STARTED = Counter("evaluation_started_total", "Started evaluations, counting every attempt.")
EVALUATION_COMPLETED = Counter("evaluation_completed_total", "Evaluations that ended with a score.", ["env_id"])
EVALUATION_FAILED = Counter("evaluation_failed_total", "Evaluations that failed for good.", ["reason"])
EVALUATION_DURATION = Histogram(
    "evaluation_duration_seconds",
    "Time from the claim of an evaluation to its score.",
    ["env_id"],
    buckets=EVALUATION_BUCKETS,
)
LEADERBOARD_QUERIES = Counter("leaderboard_queries_total", "Requested boards, on pages and API.", ["env_id", "sort"])
LEADERBOARD_DURATION = Histogram(
    "leaderboard_query_duration_seconds", "Time to get a board, cached or not.", buckets=ANSWER_BUCKETS
)
JOBS_STARTED = Counter("jobs_started_total", "Jobs claimed by a worker, counting every attempt.", ["kind"])
JOBS_FINISHED = Counter("jobs_finished_total", "Jobs in a final state.", ["kind", "state", "fault"])
JOBS_GIVEN_BACK = Counter("jobs_given_back_total", "Running jobs that returned to their queue.", ["kind", "reason"])
JOBS_REFUSED = Counter("jobs_refused_total", "Attempts whose result came too late and was refused.", ["kind"])
JOB_DURATION = Histogram(
    "job_duration_seconds", "Time from the claim of a job to its end.", ["kind"], buckets=EVALUATION_BUCKETS
)
PLATFORM_FAULTS = Counter("platform_faults_total", "Attempts that failed by the arena's fault.", ["kind", "code"])
ENGINE_ERRORS = Counter("engine_errors_total", "Platform faults caused by the container engine.", ["code"])
DUELS_PLAYED = Counter("duels_played_total", "Duels whose result was written.", ["env_id"])
MATCHES_PLAYED = Counter("matches_played_total", "Matches and episodes of finished jobs.", ["kind", "env_id"])
MOVES_PLAYED = Counter("moves_played_total", "Moves of all seats in these matches.", ["kind", "env_id"])
REQUESTS = Counter("http_requests_total", "Answered requests, by the view's name.", ["handler", "method", "status"])
REQUEST_DURATION = Histogram(
    "http_request_duration_seconds", "Time until the answer began.", ["handler", "method"], buckets=ANSWER_BUCKETS
)
EXECUTOR_CALLS = Counter("grpc_server_handled_total", "Answered calls of the executor.", ["method", "code"])
EXECUTOR_DURATION = Histogram(
    "grpc_server_handling_seconds", "Time until a call of the executor ended.", ["method"], buckets=EVALUATION_BUCKETS
)
SCALER_WANTED = Gauge(
    "scaler_wanted_hosts", "Hosts that the open work wants, at the last look.", multiprocess_mode="mostrecent"
)
SCALER_FAILURES = Counter(
    "scaler_failed_looks_total", "Looks at which the provider of hosts did not do all it was asked."
)


# These exist from the start, because an increase can only be seen if the counter begins at 0.
for _mode in ("single", "multi", "zip"):
    SUBMISSIONS_RECEIVED.labels(_mode)
for _reason in (NO_FILE, "empty_filename", "no_py", "missing_main", "main_not_py", "not_py"):
    VALIDATION_FAILURES.labels(_reason)
for _reason in (SCRIPT_ERROR, UNEXPECTED):
    EVALUATION_FAILED.labels(_reason)


class Words:
    """The values that a label has had, limited to MOST_WORDS even if the code has a mistake."""

    def __init__(self) -> None:
        self._known, self._lock = set[str](), threading.Lock()

    def of(self, word: str) -> str:
        """Return the word itself, or OTHER after too many different ones."""
        word = word[:50] or OTHER
        with self._lock:
            if word not in self._known and len(self._known) >= MOST_WORDS:
                return OTHER
            self._known.add(word)
        return word


_reasons, _handlers = Words(), Words()


def _harmless(count: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Count at once; an error is logged and does not reach the caller."""

    @wraps(count)
    def safely(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        try:
            count(*args, **kwargs)
        except Exception:
            logger.warning("A metric could not be counted.", exc_info=True)

    return safely


def _after_commit(count: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Count after the commit of the surrounding transaction, or at once without one; errors are only logged."""
    safely = _harmless(count)

    @wraps(count)
    def later(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        transaction.on_commit(partial(safely, *args, **kwargs))

    return later


def upload_mode(names: Sequence[str]) -> str:
    """Return how an upload was sent, by its file names: zip, single or multi."""
    if any(name.lower().endswith(".zip") for name in names):
        return "zip"
    return "single" if len(names) == 1 else "multi"


@_after_commit
def submission_received(*, mode: str, archive_bytes: int) -> None:
    """Count a new submission. mode: `single` for one script, `multi` for several files, `zip` for an archive."""
    SUBMISSIONS_RECEIVED.labels(_reasons.of(mode)).inc()
    UPLOAD_BYTES.inc(archive_bytes)


@_harmless
def upload_refused(reason: str) -> None:
    """Count a refused upload."""
    VALIDATION_FAILURES.labels(_reasons.of(reason)).inc()


@contextmanager
def refusals_counted() -> Iterator[None]:
    """Count the refusals of a service by their code, or by their field where the code is general."""
    try:
        yield
    except Refused as refusal:
        upload_refused(refusal.code if refusal.code != "refused" else refusal.field or refusal.code)
        raise


@_after_commit
def job_moved(*, kind: str, to: str, fault: str, code: str, is_verified: bool, seconds: float | None) -> None:
    """Count a change of a job's state.

    is_verified: False for the run of a script. seconds: since the claim; None where another process claimed the job.
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
    """Count a result that was refused because the worker had lost its job."""
    JOBS_REFUSED.labels(kind).inc()


@_after_commit
def evaluation_completed(*, env_id: str, seconds: float | None) -> None:
    """Count an evaluation that ended with a score."""
    EVALUATION_COMPLETED.labels(env_id).inc()
    if seconds is not None:
        EVALUATION_DURATION.labels(env_id).observe(seconds)


@_after_commit
def matches_played(*, kind: str, env_id: str, matches: int, moves: int) -> None:
    """Count all matches of a finished duel, validation or evaluation; called once for each job."""
    if kind == "duel":
        DUELS_PLAYED.labels(env_id).inc()
    MATCHES_PLAYED.labels(kind, env_id).inc(matches)
    MOVES_PLAYED.labels(kind, env_id).inc(moves)


@_harmless
def leaderboard_asked(*, env_id: str, sort: str, seconds: float) -> None:
    """Count a requested board."""
    LEADERBOARD_QUERIES.labels(env_id, sort).inc()
    LEADERBOARD_DURATION.observe(seconds)


@_harmless
def request_answered(*, handler: str, method: str, status: int, seconds: float) -> None:
    """Count an answered request."""
    count, duration = _of_requests(_handlers.of(handler), method, status)
    count.inc()
    duration.observe(seconds)


@lru_cache
def _of_requests(handler: str, method: str, status: int) -> tuple[Counter, Histogram]:
    return REQUESTS.labels(handler, method, str(status)), REQUEST_DURATION.labels(handler, method)


@_harmless
def call_answered(*, method: str, code: str, seconds: float) -> None:
    """Count an answered call of the executor. method: without its package. code: of gRPC, e.g. OK."""
    EXECUTOR_CALLS.labels(_handlers.of(method), code).inc()
    EXECUTOR_DURATION.labels(_handlers.of(method)).observe(seconds)
