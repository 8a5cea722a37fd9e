"""Players that misbehave when they start. `arena_kit.sandbox.probes` has the probes of the protections."""

from __future__ import annotations

ENDS = {
    "raises": "raise RuntimeError('no weights')",
    "exits": "import os; os._exit(3)",
    "exits well": "import sys; sys.exit(0)",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "kills all": "import os; os.kill(-1, 9)",
    "syntax": "x = = 1",
    "no player": "pass",
}
"""Sources of players that end before they are ready."""

FORK_BOMB = """
import os
print("forking", flush=True)
while True:
    try:
        os.fork()
        os.setsid()
    except OSError:
        pass
"""
SLEEPER = "import time\nprint('asleep', flush=True)\ntime.sleep(600)\n"
READY = "class Player:\n    def __init__(self, train_mode): print('ready', flush=True)\n"
