"""Where a worker process puts its temporary files, so that none outlasts it even when it is killed."""

from __future__ import annotations

import os
import tempfile
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

from arena_kit.folders import OwnFolder

PREFIX = f"arena-worker-{os.getuid()}-"
FOLDERS = Path(tempfile.gettempdir())
"""Of the host, as this process found it when it began."""


def work_in_own_folder(**_: Any) -> None:
    """From now on make this process's temporary files in a folder that goes with it; a receiver of `post_spawn`."""
    # Players of the process sandbox pass through it to what is theirs.
    folder = OwnFolder(FOLDERS, PREFIX, mode=0o711)
    tempfile.tempdir = str(folder.path)
    Finalize(folder, folder.close, exitpriority=0)
