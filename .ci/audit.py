"""Looks up known weaknesses of the locked packages: pip-audit for Python, npm audit for browsers' scripts.

    python .ci/audit.py UV

Exit status: 0 without a known weakness, 1 with one, 2 if some data were out of reach. Standard library only.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from locked import GROUPS, ROOT, locked

PIP_AUDIT = "pip-audit==2.9.0"
OUT_OF_REACH = "{}: its data are out of reach from here, so nothing is known. Run this where they can be reached."


def of_python(text: str) -> tuple[int, list[str]]:
    """Return the status and sentences of pip-audit's JSON."""
    try:
        rows: list[dict[str, Any]] = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 2, [OUT_OF_REACH.format("pip-audit")]
    unknown = [row["name"] for row in rows if "skip_reason" in row]
    found = [
        f"{row['name']} {row['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'no version yet'}"
        for row in rows
        for hole in row.get("vulns", ())
    ]
    if found:
        return 1, found
    if len(unknown) == len(rows):
        return 2, [OUT_OF_REACH.format("pip-audit")]
    if unknown:
        return 2, [f"pip-audit: {len(unknown)} of {len(rows)} packages were not found, such as {unknown[0]}."]
    return 0, [f"pip-audit: no known weakness in {len(rows)} packages."]


def of_scripts(text: str) -> tuple[int, list[str]]:
    """Return the status and sentences of npm's JSON."""
    try:
        found: dict[str, Any] = json.loads(text)["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        return 2, [OUT_OF_REACH.format("npm audit")]
    lines = [f"{name}: {row['severity']}" for name, row in sorted(found.items())]
    return (1, lines) if lines else (0, ["npm audit: no known weakness."])


def audited(command: list[str]) -> str:
    """Return what a program prints, whatever its status; nothing if it is not there or takes ten minutes."""
    if not shutil.which(command[0]):
        return ""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False).stdout
    except subprocess.TimeoutExpired:
        return ""


def main(uv: str) -> int:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.write(locked(set(GROUPS) - {"dev", "uv"}))
        lock.flush()
        options = [
            "--format=json",
            "--progress-spinner=off",
            "--disable-pip",
            "--require-hashes",
            f"--requirement={lock.name}",
        ]
        python = of_python(audited([uv, "tool", "run", "--from", PIP_AUDIT, "pip-audit", *options]))
    answers = [python, of_scripts(audited(["npm", "audit", "--omit=dev", "--json"]))]
    print(*(line for _, lines in answers for line in lines), sep="\n")
    statuses = {status for status, _ in answers}
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
