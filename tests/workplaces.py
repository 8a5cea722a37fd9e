"""Ends the workplace of a process of tests, which outlives the work that it does as a worker."""

from __future__ import annotations

import os

from duel_runner import workplace as workplaces


def leave_workplace() -> None:
    """Close the workplace of this process, if there is one."""
    workplace, workplaces._workplace = workplaces._workplace, None
    if workplace is not None and workplace.process == os.getpid():
        workplace.close()
