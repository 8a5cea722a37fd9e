"""The classic name of `arena recheck`: `python -m duel_runner.verify RECORDS.zip`."""

from __future__ import annotations

import sys

from arena_kit.cli.recheck import main

if __name__ == "__main__":
    sys.exit(main())
