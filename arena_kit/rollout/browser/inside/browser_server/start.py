"""Starts the server from the folder that it was copied into."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from browser_server import serving  # type: ignore[import-not-found]  # the folder above is the path

serving.main(sys.argv[1])
