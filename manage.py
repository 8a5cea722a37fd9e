#!/usr/bin/env python
"""Django's command line for the arena."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
    from core.management.operated import Operated

    Operated(sys.argv).execute()


if __name__ == "__main__":
    main()
