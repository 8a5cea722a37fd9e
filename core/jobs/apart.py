"""One row in trouble must not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)


class apart:  # noqa: N801  (it reads as a statement: with apart(row))
    """Write down what goes wrong with one thing, so that the caller goes on with the next.

    otherwise: done after a failure that is the thing's own; a database that does not answer is not.
    """

    def __init__(self, what: object, *, otherwise: Callable[[], object] | None = None) -> None:
        self._what = what
        self._otherwise = otherwise

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, OperationalError | InterfaceError):
            logger.warning("%s was left as it is, for the database did not answer: %s", self._what, error)
            # The next one may find the database again, on a new connection.
            if not connection.in_atomic_block:
                connection.close()
        elif isinstance(error, Exception):
            logger.error("%s cannot be brought up to date.", self._what, exc_info=error)
            if self._otherwise is not None:
                self._otherwise()
        return isinstance(error, Exception)
