"""The file that Python is given to start a container's process 1."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from player_server.supervisor import main  # type: ignore[import-not-found]  # found beside this folder

# A player must not find more than its own files and its packages.
del sys.path[0]
main()
