"""taskkill /F /T /PID NUMBER: ends a process and its descendants, as far as they still hang together."""

import contextlib
import os
import signal
import sys


def children(parent):
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == parent:
                    yield int(name)
        except OSError:
            pass


def end(pid):
    for child in list(children(pid)):
        end(child)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


end(int(sys.argv[sys.argv.index("/PID") + 1]))
