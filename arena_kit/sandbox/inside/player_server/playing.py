"""Loads a player from its folder and lets it play one duel in this process."""

from __future__ import annotations

import contextlib
import importlib.util
import mmap
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from . import forms, serving
from .site import arena_sources
from .traces import traced

OBJECTS_BYTES = 256 << 20
"""Memory for all `Player` objects of a duel, unless the player sets `max_parallel_matches`."""


def play(connect: Callable[[], socket.socket], form: str, make: Callable[[bool], Any]) -> int:
    """Make the first `Player`, connect the wire, and answer until the referee hangs up; return the exit status."""
    try:
        before = resident_bytes()
        first = make(False)
        affordable = max(1, OBJECTS_BYTES // max(1, resident_bytes() - before))
        asked = getattr(first, "max_parallel_matches", None) or getattr(make, "max_parallel_matches", None)
        wire = connect()
        limit = asked if isinstance(asked, int) and asked > 0 else affordable
        serving.Server(wire, form, make, first, limit).run()
    except (BrokenPipeError, ConnectionResetError):
        return 0
    except BaseException as error:
        return report(error)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
    return 0


def resident_bytes() -> int:
    """Return the memory of this process, or 0 where the kernel does not show it."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE
    return 0


def report(error: BaseException) -> int:
    """Print an error into the player's log; return the exit status."""
    with contextlib.suppress(Exception):
        sys.stderr.write(traced(error))
        sys.stdout.flush()
        sys.stderr.flush()
    return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1


def load_player(folder: str) -> tuple[str, Callable[[bool], Any]]:
    """Load the player from its folder; return the name of its entry point and a function that makes a `Player`."""
    os.chdir(folder)
    arena_sources.only_sources(folder)
    sys.path.insert(0, folder)
    for name in ("player", "agent", "main"):
        path = os.path.join(folder, name + ".py")
        if os.path.isfile(path):
            # Loading by path, because an import would prefer a folder of the same name.
            loader = arena_sources.SourceLoader(name, path)
            spec: Any = importlib.util.spec_from_file_location(name, path, loader=loader)
            sys.modules[name] = module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            return name, forms.adapt(name, module)
    raise RuntimeError("The archive has no player.py, agent.py or main.py at its root.")
