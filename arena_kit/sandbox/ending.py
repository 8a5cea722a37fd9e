"""How a container can end."""

from __future__ import annotations

from arena_kit.older import StrEnum


class Ending(StrEnum):
    """How a container ended."""

    RUNNING = "running"
    EXITED = "exited"
    OUT_OF_MEMORY = "out_of_memory"
    KILLED = "killed"
    KILLED_FROM_OUTSIDE = "killed_from_outside"
    """The engine was ordered to end the whole container, or was restarted, which is a fault of the platform."""
    TIMED_OUT = "timed_out"
    """A script was ended because its time was over; players do not end in this way."""
