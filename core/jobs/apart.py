"""Error isolation: trouble with one row does not stop the others."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType

from django.db import InterfaceError, OperationalError, connection

logger = logging.getLogger(__name__)


class apart:  # noqa: N801  (it reads as a statement: with apart(row))
    """Log an error of one item, so that the caller continues with the next.

    otherwise: called after an error of the item itself, but not when the database does not answer.
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
            logger.warning("%s was not updated because the database did not answer: %s", self._what, error)
            # A new connection may reach the database again for the next item.
            if not connection.in_atomic_block:
                connection.close()
        elif isinstance(error, Exception):
            logger.error("%s could not be updated.", self._what, exc_info=error)
            if self._otherwise is not None:
                try:
                    self._otherwise()
                except Exception:
                    logger.exception("%s could not be delayed either.", self._what)
        return isinstance(error, Exception)
