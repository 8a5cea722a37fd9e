"""Starts a container's process 1, for a script if the first argument is `script`, otherwise for a player.

The first argument `plain` starts a player's plain process.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Processes that a player starts by multiprocessing import this file, too, except where they are forks.
if __name__ == "__main__":
    # Python puts the folder of the file that it runs first on the path; the option against that is newer than 3.8.
    sys.path[:] = [os.path.dirname(HERE)] + [path for path in sys.path if path != HERE]
    if sys.argv[1:2] == ["script"]:
        from player_server.scripting import main  # type: ignore[import-not-found]  # found beside this folder
    elif sys.argv[1:2] == ["plain"]:
        from player_server.plain import main  # type: ignore[import-not-found]  # found beside this folder
    else:
        from player_server.supervisor import main  # type: ignore[import-not-found]  # found beside this folder

    # A submission must find only its own files and its packages.
    del sys.path[0]
    main()
