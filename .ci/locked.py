"""The lock of all packages, requirements.txt: versions and hashes, and after each package the extras that need it.

    python .ci/locked.py site s3     print what these extras need, for `pip install --no-deps --require-hashes -r`
    python .ci/locked.py --write UV  write the lock anew from pyproject.toml with this uv

One file serves pip and uv alike. Neither checks hashes of a constraints file (pip) or knows extras in a requirements
file (uv), and the files that know extras (uv.lock, pylock.toml) carry addresses, which belong to the machine that
installs. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.txt"
NEEDED = "    # for: "
GROUPS = {
    "kit": ("gymnasium",),
    "site": ("site",),
    "box2d": ("site", "box2d"),
    "mujoco": ("site", "mujoco"),
    "grpc": ("site", "grpc"),
    "kubernetes": ("site", "kubernetes"),
    "otel": ("site", "otel"),
    "s3": ("site", "s3"),
    "dev": ("dev",),
    "uv": (),
}
"""The extras of pyproject.toml that each name stands for. `uv` is what installs the others faster than pip."""


def packages(text: str) -> Iterator[tuple[str, str]]:
    """Yield each package of a lock as its first line and all of its lines."""
    lines: list[str] = []
    for line in text.splitlines():
        if line and not line[0].isspace() and not line.startswith("#"):
            if lines:
                yield lines[0], "\n".join(lines)
            lines = []
        if line.strip() and (lines or not line.startswith("#")):
            lines.append(line)
    if lines:
        yield lines[0], "\n".join(lines)


def locked(names: Iterable[str]) -> str:
    """Return the lines that install these extras. Raises SystemExit for an unknown one."""
    wanted = set(names)
    if unknown := sorted(wanted - GROUPS.keys()):
        raise SystemExit(f"There is no extra {unknown[0]!r}. There are: {', '.join(GROUPS)}.")
    found: dict[str, str] = {}
    for first, block in packages(LOCK.read_text()):
        body, _, needed = block.rpartition(f"\n{NEEDED}")
        # Two extras may need a package on different systems: what needs it on all of them stands first in the lock.
        if not wanted.isdisjoint(needed.split()):
            found.setdefault(first.split()[0], body)
    return "\n".join(found.values()) + "\n"


def write(uv: str) -> None:
    """Resolve everything together, then each group within that, and write one file."""
    command = [
        uv,
        "pip",
        "compile",
        "-q",
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--no-emit-index-url",
        "--no-emit-find-links",
        "--no-header",
        "--no-annotate",
    ]
    needed: dict[str, set[str]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as folder:
        everything = Path(folder) / "all.txt"
        # Versions that the lock has stay, unless pyproject.toml asks for others.
        everything.write_text(LOCK.read_text() if LOCK.exists() else "")
        group = ["--group", "pyproject.toml:uv"]
        subprocess.run(
            [*command, "pyproject.toml", "--all-extras", *group, "-o", str(everything)], cwd=ROOT, check=True
        )
        for name, extras in GROUPS.items():
            what = [word for extra in extras for word in ("--extra", extra)]
            what = ["pyproject.toml", *what] if extras else []
            what += group if name in {"dev", "uv"} else []
            found = subprocess.run(
                [*command, *what, "-c", str(everything)], cwd=ROOT, check=True, capture_output=True, text=True
            )
            for _, block in packages(found.stdout):
                needed[block].add(name)
    # A line without a marker is shorter than its twin with one.
    blocks = sorted(needed, key=lambda block: (block.partition("==")[0], len(block.partition("\n")[0])))
    lines = (f"{block}\n{NEEDED}{' '.join(name for name in GROUPS if name in needed[block])}\n" for block in blocks)
    LOCK.write_text("".join(lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"] and len(sys.argv) == 3:
        write(sys.argv[2])
    elif sys.argv[1:]:
        sys.stdout.write(locked(sys.argv[1:]))
    else:
        raise SystemExit(__doc__)
