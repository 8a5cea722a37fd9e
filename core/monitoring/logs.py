"""The format of log records: a JSON object or a line for people, always with the fields of its subject."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from arena_kit.log_context import bound_fields, trace_without_secrets, without_secrets
from core.version import arena_version

FORMATS = ("json", "line")
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


def log_configuration(form: str, level: str) -> dict[str, Any]:
    """Return Django's LOGGING. form: one of FORMATS; an unknown one, which a system check refuses, writes lines."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "core.monitoring.logs.JsonLines"}, "line": {"()": "core.monitoring.logs.Lines"}},
        "filters": {"on_a_real_site": {"()": "django.utils.log.RequireDebugFalse"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": form if form in FORMATS else "line"},
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


class JsonLines(logging.Formatter):
    """One JSON object a line. JSON escapes line breaks, so a message cannot forge another record."""

    encode = json.JSONEncoder(default=str).encode

    def format(self, record: logging.LogRecord) -> str:
        """Return the fields of every record, those of its subject, then its own and its trace."""
        line = {
            "time": _time(record),
            "level": record.levelname,
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            "service": _service,
            "version": arena_version(),
            **bound_fields(),
            **_extra(record),
        }
        if record.exc_info:
            line["exc_info"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack_info"] = record.stack_info
        try:
            return self.encode(line)
        except Exception:
            # A circle, a key that is no text, or a value without a text must not lose the line.
            fit = (str, int, float)
            return self.encode(
                {key: one if isinstance(one, fit) else object.__repr__(one) for key, one in line.items()}
            )

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        return trace_without_secrets(super().formatException(ei), ei[1])


class Lines(logging.Formatter):
    """A line for people: time, level, logger, message, fields of its subject. Traces are indented below it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("{message}", style="{")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (logging's name)
        fields = {**bound_fields(), **_extra(record)}
        about = "".join(f" {name}={value}" for name, value in fields.items())
        return CONTROL.sub(
            _escaped, f"{_time(record)} {record.levelname} {record.name} {without_secrets(record.message)}{about}"
        )

    def formatException(self, ei: Any) -> str:  # noqa: N802  (logging's name)
        trace = CONTROL_IN_TRACE.sub(_escaped, trace_without_secrets(super().formatException(ei), ei[1]))
        # The indent keeps a line of the trace from looking like a record.
        return "\n".join(f"    {line}" for line in trace.split("\n"))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in record.__dict__.items() if name not in STANDARD}


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()
