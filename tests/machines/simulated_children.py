"""Starts the children of a simulated machine with the simulation, too."""

import os
import sys

ISOLATED = ("-I", "-S", "-E")
"""Options of Python with which it takes no PYTHONPATH, or imports no sitecustomize."""


def with_simulation(command, environment, folder):
    """Return a command and its environment so that a Python among it simulates the machine of `folder`."""
    variables = dict(os.environ if environment is None else environment)
    others = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path and path != folder]
    variables["PYTHONPATH"] = os.pathsep.join([folder, *others])
    if isinstance(command, str | bytes | os.PathLike):
        return command, variables
    words = [os.fspath(word) for word in command]
    if words[0] == "taskkill":
        words = [sys.executable, "-I", "-S", os.path.join(folder, "taskkill.py"), *words[1:]]
    elif words[0] == "ps":
        # That of macOS shows variables by another option.
        words = ["e" if word == "-E" else word for word in words]
    elif words[0] == sys.executable and any(word in ISOLATED for word in words) and "-c" in words:
        at = words.index("-c") + 1
        first = f"import runpy; runpy.run_path({os.path.join(folder, 'sitecustomize.py')!r})\n"
        words[at] = first + words[at]
    return words, variables
