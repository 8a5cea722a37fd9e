"""Players that use up a resource; each ends by itself even where its limit is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import PlayerDidNotStart
from arena_kit.sandbox.docker import PIDS_LIMIT
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.probes.walls import ProbeFinding

LIMITS = Limits(memory_limit_bytes=256 << 20, start_seconds=60.0, log_limit_bytes=10_000)
"""The limits under which the bombs run."""

MEMORY_BOMB = """
import os
print("filling", flush=True)
blocks = []
for _ in range(128):
    blocks.append(b"x" * (8 << 20))
print("filled 1 GiB", flush=True)
os._exit(0)
"""
CHILD_MEMORY_BOMB = "import os\nos.fork()\nos.fork()\n" + MEMORY_BOMB
PROCESS_BOMB = """
import os, time
try:
    for number in range(1, 500):
        if os.fork() == 0:
            os.setsid()
            time.sleep(60)
            os._exit(0)
        print("forked", number, flush=True)
except OSError as error:
    print("refused:", error.strerror, flush=True)
os._exit(0)
"""
FLOOD = r"""
import os
for _ in range(1000):
    os.write(1, b"y" * 65536)
os.write(2, b"\nthe end")
os._exit(0)
"""
MUTINY = """
import os, signal, time
print("killing process 1", flush=True)
time.sleep(0.2)
with open("/proc/1/cmdline") as file:
    if "player_server" not in file.read():
        print("it is not the supervisor", flush=True)
        os._exit(0)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGSTOP, signal.SIGKILL):
    os.kill(1, number)
time.sleep(0.2)
with open("/proc/1/stat") as file:
    print("it goes on, state", file.read().rsplit(")", 1)[1].split()[0], flush=True)
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Bomb:
    """A player that uses up a resource, and how it must end."""

    protection: str
    tried: str
    source: str
    holds: Callable[[PlayerDidNotStart], bool]

    def judge(self, end: PlayerDidNotStart, *, own_kernel: bool = False) -> ProbeFinding:
        """Return whether the protection held. own_kernel: whether the player ran under gVisor."""
        last = end.log.rstrip().rpartition("\n")[2][-60:]
        happened = f"{end.ending}, {len(end.log)} characters printed, at last: {last}"
        held = self.holds(end) or (own_kernel and self.protection == "memory" and _ended_unheard(end))
        return ProbeFinding(self.protection, self.tried, happened, held)


def _out_of_memory(end: PlayerDidNotStart) -> bool:
    return end.ending is Ending.OUT_OF_MEMORY and "filling" in end.log


def _ended_unheard(end: PlayerDidNotStart) -> bool:
    # When the kernel ends a whole gVisor, the engine does not always learn that memory ran out.
    return end.ending is Ending.EXITED and "filling" in end.log and "filled" not in end.log


def _few_processes(end: PlayerDidNotStart) -> bool:
    # gVisor's own kernel ends when it cannot get a thread; the log may then lack its last lines.
    return end.ending is not Ending.RUNNING and 0 < end.log.count("forked") < PIDS_LIMIT


def _bounded_log(end: PlayerDidNotStart) -> bool:
    return LIMITS.log_limit_bytes <= len(end.log) <= LIMITS.log_limit_bytes + 256 and "the end" in end.log


def _never_frozen(end: PlayerDidNotStart) -> bool:
    # A player may end its supervisor, which ends its own container, but not stop it, or the host would have to wait.
    survived = any(f"state {state}" in end.log for state in "SR")
    return survived or (end.ending is not Ending.RUNNING and end.log == "killing process 1\n")


BOMBS: tuple[Bomb, ...] = (
    Bomb("memory", f"more than {LIMITS.memory_limit_bytes >> 20} MiB", MEMORY_BOMB, _out_of_memory),
    Bomb("memory", "the same in four processes", CHILD_MEMORY_BOMB, _out_of_memory),
    Bomb("processes", f"more than {PIDS_LIMIT}, in sessions of their own", PROCESS_BOMB, _few_processes),
    Bomb("log", f"more than {LIMITS.log_limit_bytes} bytes", FLOOD, _bounded_log),
    Bomb("supervisor", "ending and stopping it", MUTINY, _never_frozen),
)
