"""The program that inspects an archive under limits, for `inspection`: it imports little, so that it starts quickly."""

from __future__ import annotations

import json
import sys

from arena_kit.machine import processes
from arena_kit.upload.findings import archive_findings
from arena_kit.upload.pythons import read_version
from arena_kit.upload.zip_safety import LIMITS

MEMORY_BYTES = 1 << 30
REFUSE = "--refuse="


def main() -> int:
    """Inspect the archive at standard input and print what is found as one line of JSON.

    Arguments: the path by which another process can open it, `--warn`, `--whole`, versions of Python, and
    `--refuse=CODE` for each warning that is an error on this site.
    """
    limits = {"CPU": LIMITS.compile_seconds, "AS": MEMORY_BYTES, "FSIZE": 0, "CORE": 0}
    for name, most in limits.items():
        processes.limit(name, most)
    path, *words = sys.argv[1:]
    pythons = [version for version in map(read_version, words) if version is not None]
    found = archive_findings(
        sys.stdin.buffer,
        path,
        warns="--warn" in words,
        is_whole="--whole" in words,
        pythons=pythons,
        is_copied=not processes.WINDOWS,
        refuses=[word.removeprefix(REFUSE) for word in words if word.startswith(REFUSE)],
    )
    sys.stdout.write(json.dumps(found.as_json()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
