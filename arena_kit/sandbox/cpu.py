"""CPU time of containers, as the host's kernel counts it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
NANOSECONDS, MICROSECONDS = 1e-9, 1e-6


class CpuClock:
    """CPU time of everything in one container of a Docker engine on this host.

    Reads the container's control group (both versions), which costs about a microsecond. Where that cannot be seen,
    as from inside another container, it knows nothing. parent: the control group that the sandbox was given, if any.
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
        """CPU time used so far, None where it is not known."""
        if self._descriptor is None:
            return None
        try:
            text = os.pread(self._descriptor, 64, 0)
        except OSError:
            return None
        # Version 2 begins with `usage_usec N`.
        return int(text) * NANOSECONDS if self._is_version_1 else int(text.split(maxsplit=2)[1]) * MICROSECONDS

    def close(self) -> None:
        """Give the descriptor back."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
