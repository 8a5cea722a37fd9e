"""Runs the command `arena` as `python -m arena_kit`."""

from __future__ import annotations

import sys

from arena_kit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
