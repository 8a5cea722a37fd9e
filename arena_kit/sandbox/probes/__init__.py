"""Tests a sandbox's protections from inside it, with its real options."""

from __future__ import annotations

import json
import platform
import secrets
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from arena_kit.environment.spec import Limits
from arena_kit.sandbox.base import FOLDER_PREFIX, Launch, PlayerDidNotStart, Sandbox, SandboxError
from arena_kit.sandbox.cores import own_folder
from arena_kit.sandbox.ending import Ending
from arena_kit.sandbox.probes.bombs import BOMBS, LIMITS
from arena_kit.sandbox.probes.walls import CORE, ProbeFinding, Result, judge

__all__ = ["LABEL", "PROBE", "ProbeFinding", "check_sandbox", "end_of", "probe_results"]

LABEL = "arena.check"
PROBE = Path(__file__).with_name("player.py").read_text(encoding="utf-8")
"""The source of the player that runs all probes."""
PROBE_LIMITS = replace(LIMITS, memory_limit_bytes=512 << 20, log_limit_bytes=1 << 20)
"""Limits with enough memory to fill a /tmp that has no limit, so that its missing limit is found."""


def check_sandbox(sandbox: Sandbox, folder: Path, *, thorough: bool, own_kernel: bool) -> list[ProbeFinding]:
    """Try every protection of a sandbox from inside; return what was tried and which protections held.

    folder: a folder for players that the sandbox can reach. thorough: whether to start players that use up memory,
    processes and the log. own_kernel: whether the sandbox's runtime is gVisor. Raises SandboxError when no player can
    be started.
    """
    results = probe_results(sandbox, folder)
    findings = judge(results, own_kernel=own_kernel)
    if own_kernel:
        inside, outside = results.get("kernel", {}).get("done", "nothing"), platform.release()
        findings.append(
            ProbeFinding("gVisor", "the release of the kernel", f"{inside}, not {outside}", inside != outside)
        )
    for bomb in BOMBS if thorough else ():
        end = end_of(sandbox, folder, bomb.source)
        findings.append(bomb.judge(end, own_kernel=own_kernel))
    return findings


def probe_results(sandbox: Sandbox, folder: Path) -> dict[str, Result]:
    """Return the results of the probes by name; empty when the player printed none."""
    log = end_of(sandbox, folder, PROBE, PROBE_LIMITS).log
    line = next((line for line in log.splitlines() if line.startswith("{")), "{}")
    results: dict[str, Result] = json.loads(line)
    return results


def end_of(sandbox: Sandbox, folder: Path, source: str, limits: Limits = LIMITS) -> PlayerDidNotStart:
    """Run a player that ends by itself while it is loaded; return how it ended and its output."""
    try:
        own_folder(folder)
        player = Path(tempfile.mkdtemp(dir=folder))
    except OSError as error:
        raise SandboxError(f"The folder {folder} cannot be used: {error.strerror}.", code="channel_failed") from None
    try:
        player.chmod(0o755)
        (player / "player.py").write_text(source, encoding="utf-8")
        name = f"arena-check-{secrets.token_hex(4)}"
        container = sandbox.launch(Launch(FOLDER_PREFIX + str(player), name, limits, {LABEL: name}, core=CORE))
        container.close()
        return PlayerDidNotStart("It should have ended.", log="", ending=Ending.RUNNING)
    except PlayerDidNotStart as end:
        return end
    finally:
        shutil.rmtree(player)
