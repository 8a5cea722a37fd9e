"""A worker process's folder for temporary files, which is removed even when the process is killed."""

from __future__ import annotations

import os
import tempfile
from multiprocessing.util import Finalize
from pathlib import Path

from arena_kit.folders import OwnFolder

PREFIX = f"arena-worker-{os.getuid()}-"
FOLDERS = Path(tempfile.gettempdir())
"""The host's folder for temporary files, as it was when this process began."""


def work_in_own_folder() -> None:
    """Put this process's temporary files into its own folder, removed at its end."""
    # Execute permission for all: players of the process sandbox reach their own files through this folder.
    folder = OwnFolder(FOLDERS, PREFIX, mode=0o711)
    tempfile.tempdir = str(folder.path)
    Finalize(folder, folder.close, exitpriority=0)
