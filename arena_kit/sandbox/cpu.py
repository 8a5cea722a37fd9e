"""Reads the CPU time of containers from the host's kernel."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
NANOSECONDS, MICROSECONDS = 1e-9, 1e-6


class CpuClock:
    """Reads the CPU time of one container of a Docker engine on this host.

    It reads the container's control group (version 1 or 2), which takes about a microsecond. Where the control group is
    not visible, as from inside another container, the time is unknown. parent: the control group given to the sandbox;
    empty for the engine's default.
    """

    def __init__(self, container_id: str, parent: str = "") -> None:
        self._descriptor: int | None = None
        group, slice_ = parent.strip("/") or "docker", parent if parent.endswith(".slice") else "system.slice"
        for path in (
            CGROUPS / "cpuacct" / group / container_id / "cpuacct.usage",
            CGROUPS / slice_ / f"docker-{container_id}.scope" / "cpu.stat",
            CGROUPS / group / container_id / "cpu.stat",
        ):
            with contextlib.suppress(OSError):
                self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                self._is_version_1 = path.name == "cpuacct.usage"
                return

    def seconds(self) -> float | None:
        """Return the CPU time used so far, or None when it is unknown."""
        if self._descriptor is None:
            return None
        try:
            text = os.pread(self._descriptor, 64, 0)
        except OSError:
            return None
        # Version 2 begins with `usage_usec N`.
        return int(text) * NANOSECONDS if self._is_version_1 else int(text.split(maxsplit=2)[1]) * MICROSECONDS

    def close(self) -> None:
        """Close the file. May be called twice."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
