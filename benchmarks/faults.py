"""The season of faults under its classic name: `python -m benchmarks.faults`, see `tests/season/`."""

from __future__ import annotations

import sys

from tests.season.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
