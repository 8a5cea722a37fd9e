"""`python -m executor`: what `manage.py run_executor` does, for programs that start the older executor by this name."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "core.settings")
    execute_from_command_line(["python -m executor", "run_executor", *sys.argv[1:]])
