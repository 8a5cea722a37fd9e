"""The limits of installing requirements, and the program that ends pip when it takes more."""

from __future__ import annotations

INSTALL_SECONDS = 900
"""Limit on all runs of pip together."""
FETCHED_BYTES, INSTALLED_BYTES = 8 << 30, 8 << 30
MAX_FILES, MAX_PACKAGES = 200_000, 200
TIMED_OUT, TOO_LARGE, TOO_MANY_FILES = 124, 121, 122
"""The exit statuses with which WATCH says which limit was exceeded."""
LOOK_SECONDS = 1.0
MEMORY_BYTES = 2 << 30
OUTPUT_CHARACTERS = 20_000
"""Characters kept of the end of pip's output."""
WATCH = """
import os, subprocess, sys, time
seconds, pause, most_bytes, most_files = map(float, sys.argv[1:5])
folders, command = sys.argv[5].split(":"), sys.argv[6:]
deadline = time.monotonic() + seconds
child = subprocess.Popen(command)
status = None
while status is None:
    try:
        status = child.wait(pause)
    except subprocess.TimeoutExpired:
        if time.monotonic() > deadline:
            status = 124
    size = count = 0
    for folder in folders:
        for path, folders_in, names in os.walk(folder):
            count += len(folders_in) + len(names)
            for name in names:
                try:
                    size += os.lstat(os.path.join(path, name)).st_size
                except OSError:
                    pass
    if size > most_bytes or count > most_files:
        status = 121 if size > most_bytes else 122
child.kill()
sys.exit(status if status >= 0 else 128 - status)
"""
