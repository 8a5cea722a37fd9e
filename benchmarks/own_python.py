"""Virtual environments for the packages of single benchmarks, created on first use."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_SECONDS = 600.0


class CannotInstall(Exception):
    """The packages cannot be installed on this machine; the message is a sentence."""


def own_python(requirements: Path) -> Path:
    """Return an interpreter with the packages of a hash-locked file, created if missing. Raises CannotInstall.

    The virtual environment is kept in the user's cache folder.
    """
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "rl-arena" / f"{requirements.parent.name}-{key}"
    python, complete = folder / "bin" / "python", folder / "complete"
    if complete.exists():
        return python
    print(f"Installing {requirements.parent.name} into {folder} (once) ...", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input"]
    _run([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(requirements)])
    complete.touch()
    return python


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(f"It cannot be installed: {error}.") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        reason = next((line for line in reversed(said) if "ERROR" in line), said[-1] if said else "no reason given")
        raise CannotInstall(f"It cannot be installed: {reason}")
