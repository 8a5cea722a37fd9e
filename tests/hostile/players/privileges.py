"""Which user it is, and whether it can become another one."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from pathlib import Path

from tests.hostile import probe
from tests.hostile.probe import in_child, tried

TOOL = "#!/bin/sh\nexit 7\n"


def status(field: str) -> str:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith(field + ":"))


def run_from(folder: Path) -> int:
    tool = folder / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)
    return subprocess.run([tool], check=False).returncode


def setuid_program() -> str:
    done = subprocess.run(["su", "-c", "id -u"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "nothing"


def own_setuid_program() -> int:
    with tempfile.TemporaryDirectory() as name:
        tool = Path(name) / "tool"
        tool.write_text("#!/bin/sh\nid -u\n")
        os.chown(tool, 0, 0)
        tool.chmod(0o4755)
        return tool.stat().st_mode & stat.S_ISUID


class Player(probe.Player):
    def attack(self) -> None:
        tried("user", lambda: "root" if 0 in {*os.getresuid(), *os.getresgid(), *os.getgroups()} else "nobody")
        for field in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
            tried(field, status, field)
        tried("OOM score", lambda: Path("/proc/self/oom_score_adj").read_text().strip())
        tried("setuid", os.setuid, 0)
        tried("setgroups", os.setgroups, [0])
        tried("setuid program", setuid_program)
        tried("own setuid program", own_setuid_program)
        tried("program in /tmp", run_from, Path("/tmp"))
        tried("real-time priority", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
        tried("higher priority", os.nice, -5)
        tried("child without limits", lambda: in_child(lambda: os.setuid(0)))
