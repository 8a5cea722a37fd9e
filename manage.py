#!/usr/bin/env python
"""Django's command line for the arena."""

import gc
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
    # Before NumPy is loaded: a rating's linear algebra must not take the cores on which others play.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What a start loads is never garbage: looking through it again and again takes a tenth of its time.
    gc.set_threshold(50_000, 20, 20)
    # Late: the settings are named first.
    from core.management.operated import Operated

    Operated(sys.argv).execute()


if __name__ == "__main__":
    main()
