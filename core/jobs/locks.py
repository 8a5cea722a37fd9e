"""The order in which transactions lock rows, and a watch that asserts it in tests and with DEBUG.

Two transactions that lock the same rows in different orders can wait for each other forever. So every transaction
locks tables in the order of `ORDER`, and several rows of one table by key. It may leave tables out, and it may lock a
table again. `SKIP LOCKED` never waits and is free. Tables that are not in `ORDER` are not watched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import Model

from core.jobs.kinds import JOB_MODELS
from core.models import (
    Agent,
    Duel,
    Environment,
    Evaluation,
    Ledger,
    LedgerSums,
    Participant,
    RatingPool,
    Submission,
    Tournament,
    User,
)

ORDER: tuple[tuple[type[Model], ...], ...] = (
    (User,),
    (Agent,),
    # The jobs of an agent. Duels belong to two agents and come later.
    tuple(model for model in JOB_MODELS.values() if model is not Duel),
    (Submission,),
    (Environment,),
    # Held while the tables and ratings of an environment follow its ledger.
    (LedgerSums,),
    (RatingPool,),
    (Tournament,),
    (Participant,),
    (Duel,),
    # Held until the commit by every change of an environment's results, so nothing may be locked after it.
    (Ledger,),
)
EXCEPTIONS = {(Environment._meta.db_table, Evaluation._meta.db_table)}
"""Pairs that are locked against the order: `evaluations_renew` locks an environment before its open evaluations, and a
transaction that has locked one of those never waits for the environment."""
_RANKS = {model._meta.db_table: rank for rank, models in enumerate(ORDER) for model in models}
_LOCK = re.compile(r'^SELECT .*? FROM "(?P<table>\w+)".* FOR (?:NO KEY )?(?:UPDATE|SHARE)(?P<rest>[^()]*)$', re.DOTALL)


class WrongLockOrder(AssertionError):
    """A transaction locks a table after one that comes later in ORDER: a mistake in the code."""


class LockOrder:
    """Asserts the order of one connection's locks, as a wrapper of its queries."""

    def __init__(self) -> None:
        self._transaction: object = None
        self._locked: set[str] = set()

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        # Few statements lock anything, and the expression takes its time with long ones.
        found = _LOCK.match(sql) if " FOR " in sql else None
        if found is not None and found["table"] in _RANKS and "SKIP LOCKED" not in found["rest"]:
            self._note(context["connection"], found["table"])
        return execute(sql, params, many, context)

    def _note(self, connection: BaseDatabaseWrapper, table: str) -> None:
        # The outermost block of the code itself: tests run within blocks of their own.
        blocks: list[Any] = connection.atomic_blocks
        transaction = next((block for block in blocks if not block._from_testcase), None)
        if transaction is not self._transaction:
            self._transaction, self._locked = transaction, set()
        rank = _RANKS[table]
        later = {one for one in self._locked if _RANKS[one] > rank and (one, table) not in EXCEPTIONS}
        if later and table not in self._locked:
            raise WrongLockOrder(f"{table} is locked after {', '.join(sorted(later))}: see core.jobs.locks.ORDER.")
        self._locked.add(table)


def agent_lock(agent_id: int) -> Agent:
    """Lock an agent's row until the transaction ends; without it the agent's place on the board must not be changed.

    Rows that refer to the agent can still be written. ORDER has the order of all locks.
    """
    agents = Agent.every.select_related("environment")
    return agents.select_for_update(of=("self",), no_key=True).get(pk=agent_id)


def name_lock(name: str) -> None:
    """Take a named lock until the transaction ends. On SQLite a writing transaction locks everything anyway."""
    if connection.vendor == "postgresql":
        number = int.from_bytes(hashlib.sha256(f"core {name}".encode()).digest()[:8], "big", signed=True)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def lock_order_assert() -> None:
    """Assert the order of locks on every connection, in all threads, from now on."""
    connection_created.connect(_assert_order, dispatch_uid="core.jobs.locks")
    for one in connections.all(initialized_only=True):
        _assert_order(connection=one)


def _assert_order(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    if not any(isinstance(wrapper, LockOrder) for wrapper in connection.execute_wrappers):
        connection.execute_wrappers.append(LockOrder())
