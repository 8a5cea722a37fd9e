"""Adds to an error of Python what its author can change, where the same few causes are behind it in an arena."""

from __future__ import annotations

import re

from arena_kit.upload.conda_names import IMPORTS

_MODULE = re.compile(r"No module named '(\w+)")
_ARENA = ("environments", "example_players", "arena_kit")
_CASES = (
    (
        r"Can't get attribute '(\w+)' on <module '__main__'|module '__main__' has no attribute '(\w+)'",
        (
            "{0} was pickled in a program or a notebook, where it belongs to __main__. Define it in a file of its own, "
            "such as model.py, import it from there where you train and in your player, and save it again."
        ),
    ),
    (
        r"invalid load key, 'v'|version https://git-lfs",
        "The file is a pointer of Git LFS without the data: run git lfs pull, and pack again.",
    ),
    (
        r"SemLock|/dev/shm|multiprocessing/(?:synchronize|shared_memory|heap|queues)\.py[^\0]*?(?:OSError|FoundError)",
        (
            "Players have no shared memory, which Pool, Queue, Lock and Manager of multiprocessing and "
            "ProcessPoolExecutor need. Compute in one process, or in threads: a player has one core."
        ),
    ),
    (r"Read-only file system|Permission denied: '(?!/)", "Players may write only to /tmp."),
    (
        r"attempted relative import",
        "The files of a player are no package: write `import helper` or `from helper import ...`, without the dot.",
    ),
    (r"deserialize object on a CUDA device", "Players have no graphics card: load with map_location='cpu'."),
    (
        r"[Nn]ame resolution|Network is unreachable|urlopen error|Max retries exceeded",
        "Players have no network: put what you download into your archive.",
    ),
    (
        r"compiled using NumPy 1\.x|numpy\.core\.multiarray failed|numpy\.dtype size changed",
        "Name the version of NumPy that your packages were built for in requirements.txt, such as numpy<2.",
    ),
)
_COMPILED = [(re.compile(pattern), advice) for pattern, advice in _CASES]


def advice(text: str) -> str:
    """Return a sentence that says what to change, for the end of a player's error and traceback; "" without one."""
    if missing := _MODULE.search(text):
        if missing[1] in _ARENA:
            return "The arena's own code is not there when a player runs: copy what you need into your archive."
        name = missing[1]
        wheel = IMPORTS.get(name.lower())
        return f"Add {wheel} to requirements.txt." if wheel else f"If {name} is a package, add it to requirements.txt."
    for pattern, sentence in _COMPILED:
        if found := pattern.search(text):
            return sentence.format(next((group for group in found.groups() if group), ""))
    return ""
