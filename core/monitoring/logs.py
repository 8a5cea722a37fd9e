"""The format of log records: a JSON object or a line for people, always with the fields of its subject."""

from __future__ import annotations

import json
import logging
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from math import floor
from threading import Event, Thread
from typing import Any, TextIO

from arena_kit.log_context import bound_fields, trace_without_secrets, without_secrets
from core.version import arena_version

FORMATS = ("json", "line")
BATCH_SECONDS, MOST_WAITING = 0.1, 10_000
PIECE_BYTES = 4096
"""The most that Linux writes into a pipe without another process in between (PIPE_BUF)."""
REQUESTS = "arena.requests"
"""The logger of requests, with one line for each."""
NOT_SHOWN = ("request", "server_time", "taskName", "color_message")
"""Attributes that libraries add to records and that help no reader."""
STANDARD = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", *NOT_SHOWN})
"""Attributes that every record has, and those."""
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Characters that could begin a new line, move a reader's cursor, or cannot be encoded."""
CONTROL_IN_TRACE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

_service = "command"
_encode = json.JSONEncoder(default=str).encode
_requests = logging.getLogger(REQUESTS)
_batches: Console | None = None
"""The console of this process if it writes JSON in batches."""


def log_configuration(form: str, level: str) -> dict[str, Any]:
    """Return Django's LOGGING. form: one of FORMATS; an unknown one, which a system check refuses, writes lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "core.monitoring.logs.JsonLines"}, "line": {"()": "core.monitoring.logs.Lines"}},
        "filters": {"on_a_real_site": {"()": "django.utils.log.RequireDebugFalse"}},
        "handlers": {
            "console": {"class": "core.monitoring.logs.Console", "formatter": form if form in FORMATS else "line"},
            "mails": {"class": "core.monitoring.error_mails.Mails", "level": "ERROR", "filters": ["on_a_real_site"]},
        },
        "root": {"handlers": ["console"], "level": level},
        # Their own handlers would write in another format.
        "loggers": {
            "django": {"handlers": ["mails"]},
            # What a visitor does wrong, such as too many fields or a foreign Host, is no error of the arena.
            "django.security": {"handlers": ["console"], "level": level, "propagate": False},
            "django-q": {"handlers": ["console"], "level": level, "propagate": False},
            # It logs everything twice at INFO.
            "axes": {"level": "WARNING"},
            "gunicorn.error": {"handlers": [], "level": level, "propagate": True},
        },
    }


def name_service(name: str) -> None:
    """Set the name of this process's part of the arena: `site`, `worker-duel`, ..."""
    global _service  # noqa: PLW0603  # one for each process, like the process itself
    _service = name


def service_name() -> str:
    """Return the name of this process's part of the arena."""
    return _service


class Console(logging.StreamHandler[TextIO]):
    """Writes lines at once, or after `log_in_batches` those below WARNING ten times a second.

    A write lets another thread of the process run first. One for each answer would slow a site of many threads down.
    Lines that the stream does not take are lost, as there is no other place for them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[Callable[[], str]] = deque()
        self._more: Event | None = None
        self._is_flushing = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
            self.write(record.levelno, lambda: line)
        except Exception:
            self.handleError(record)

    def write(self, level: int, line: Callable[[], str]) -> None:
        """Write a line, after those that wait. line: makes it once its turn comes; an empty one is not written."""
        self._lines.append(line)
        if self._more is None or level >= logging.WARNING or len(self._lines) > MOST_WAITING:
            self.flush()
        elif not self._more.is_set():
            self._more.set()

    def flush(self) -> None:
        assert self.lock is not None
        with self.lock:
            if self._is_flushing:
                # The warning of a count that has failed comes with the lines of the second round.
                return
            self._is_flushing = True
            for _ in range(2):
                waiting = [self._lines.popleft() for _ in range(len(self._lines))]
                for piece in _pieces([line + self.terminator for make in waiting if (line := _made(make))]):
                    with suppress(Exception):
                        self.stream.write(piece)
                        self.stream.flush()
            self._is_flushing = False

    def flush_in_batches(self) -> None:
        """Let a thread of its own write from now on; at the end of the process `logging` writes what waits."""
        self._more = Event()
        Thread(target=self._flush_on, args=(self._more,), name="log", daemon=True).start()

    def _flush_on(self, more: Event) -> None:
        while more.wait():
            time.sleep(BATCH_SECONDS)
            more.clear()
            self.flush()


def _made(make: Callable[[], str]) -> str:
    """Return a line; one that cannot be made must not cost the others."""
    try:
        return make()
    except Exception as error:
        return f"A line of the log could not be made: {type(error).__name__}."


def _pieces(lines: Sequence[str]) -> Iterator[str]:
    """Join lines to pieces that a full pipe takes whole, as processes that share it would tear each other's lines."""
    joined, size = "", 0
    for line in lines:
        length = len(line.encode(errors="backslashreplace"))
        if joined and size + length > PIECE_BYTES:
            yield joined
            joined, size = "", 0
        joined, size = joined + line, size + length
    if joined:
        yield joined


def log_in_batches() -> None:
    """Let this process write its lines in batches."""
    global _batches  # noqa: PLW0603  # one for each process, like the process itself
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Console):
            handler.flush_in_batches()
            _batches = handler if isinstance(handler.formatter, JsonLines) else None


def request_log(level: int, message: str, fields: Mapping[str, object], *, count: Callable[[], None]) -> None:
    """Log and count an answer: in batches without a record of `logging`, as both take half of all middleware's time.

    count: raises nothing.
    """
    if _batches is None or level >= logging.WARNING:
        count()
        _requests.log(level, message, extra=fields)
        return
    shown = {**bound_fields(), **fields} if _requests.isEnabledFor(level) else {}
    _batches.write(level, partial(_counted, count, time.time(), level, message, shown))


def _counted(count: Callable[[], None], created: float, level: int, message: str, shown: Mapping[str, object]) -> str:
    count()
    return json_line(created, logging.getLevelName(level), REQUESTS, message, shown) if shown else ""


class JsonLines(logging.Formatter):
    """One JSON object a line. JSON escapes line breaks, so a message cannot forge another record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the fields of every record, those of its subject, then its own and its trace."""
        fields = _extra(record)
        if record.exc_info:
            fields["exc_info"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack_info"] = record.stack_info
        message = without_secrets(record.getMessage())
        return json_line(record.created, record.levelname, record.name, message, {**bound_fields(), **fields})

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        return trace_without_secrets(super().formatException(ei), ei[1])


def json_line(created: float, level: str, logger: str, message: str, fields: Mapping[str, object]) -> str:
    """Return the fields of every record, then those of its subject and its own. created: seconds since 1970."""
    line = {
        "time": _time(created),
        "level": level,
        "logger": logger,
        "message": message,
        "service": _service,
        "version": arena_version(),
        **fields,
    }
    try:
        return _encode(line)
    except Exception:
        # A circle, a key that is no text, or a value without a text must not lose the line.
        fit = (str, int, float)
        return _encode({key: one if isinstance(one, fit) else object.__repr__(one) for key, one in line.items()})


class Lines(logging.Formatter):
    """A line for people: time, level, logger, message, fields of its subject. Traces are indented below it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("{message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's name)
        fields = {**bound_fields(), **_extra(record)}
        about = "".join(f" {name}={value}" for name, value in fields.items())
        return CONTROL.sub(
            _escaped,
            f"{_time(record.created)} {record.levelname} {record.name} {without_secrets(record.message)}{about}",
        )

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        trace = CONTROL_IN_TRACE.sub(_escaped, trace_without_secrets(super().formatException(ei), ei[1]))
        # The indent keeps a line of the trace from looking like a record.
        return "\n".join(f"    {line}" for line in trace.split("\n"))


def _time(created: float) -> str:
    second = floor(created)
    return f"{_second(second)}.{int((created - second) * 1000):03}+00:00"


@lru_cache(maxsize=1)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in STANDARD}


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
