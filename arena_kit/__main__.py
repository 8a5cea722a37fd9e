"""`python -m arena_kit` is the command `arena`."""

from __future__ import annotations

import sys

from arena_kit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
