"""Tries folders from outside, each in a limited process, and remembers what came of it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from typing import Any

from arena_kit.environment.adapters.classic.info import Facts
from arena_kit.environment.outside.limited import Limited

PROGRAM = "arena_kit.environment.outside.trial_program"
SECONDS = 20.0
ANSWER_BYTES = 1 << 20
AT_ONCE = 2
HASHED = (".py", ".yml", ".yaml", ".json")
"""Files whose content decides how an environment plays; of the others only name, size and time count."""
MOST_FILES = 2000
FORMAT = 1
"""Changes with what a trial finds out, so that a new release tries every folder again."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial. because: a sentence; empty when the folder can be used. facts: of a classic folder."""

    because: str = ""
    facts: Facts | None = None


FRESH_SECONDS = 60.0
_known: dict[str, TrialResult] = {}
"""By digest of the folder: verdicts of this process."""
_tried_at: dict[str, float] = {}
"""By digest: when this process has tried it."""


def verdicts(paths: Sequence[Path], store: Path | None = None, *, again: bool = False) -> dict[Path, TrialResult]:
    """Return the verdict on the folder of every `info.yml`.

    store: a folder in which verdicts are kept, so that processes need not try a folder again that has not changed;
    None to keep them in this process. again: whether to try all of them again, unless this process has just done so.
    """
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(paths, pool.map(lambda path: verdict_on(path, store, again=again), paths), strict=True))


def verdict_on(path: Path, store: Path | None = None, *, again: bool = False) -> TrialResult:
    """Return the verdict on the folder of one `info.yml`; tries it if it is unknown or `again`."""
    try:
        digest = folder_digest(path.parent)
    except OSError as error:
        return TrialResult(f"{path.parent.name}: its files cannot be read: {error.strerror}.")
    is_fresh = time.monotonic() - _tried_at.get(digest, -math.inf) < FRESH_SECONDS
    if is_fresh or not again:
        if digest in _known:
            return _known[digest]
        if (kept := _kept(store, digest)) is not None:
            return kept
    _known[digest] = verdict = try_folder(path)
    _tried_at[digest] = time.monotonic()
    _keep(store, digest, {"because": verdict.because, "facts": verdict.facts and asdict(verdict.facts)})
    return verdict


def try_folder(path: Path) -> TrialResult:
    """Try the folder of an `info.yml` now, in a limited process; return the verdict."""
    name = path.parent.name
    try:
        process = Limited(PROGRAM, str(path.absolute()))
    except OSError as error:
        return TrialResult(f"{name}: it could not be tried: {error.strerror}.")
    try:
        answer, is_late = process.read_line(SECONDS, ANSWER_BYTES)
    finally:
        process.kill()
    said = _said(answer)
    if said is None:
        status = process.status or 0
        ended = f"the signal {-status}" if status < 0 else f"the exit status {status}"
        what = f"it takes more than {SECONDS:g} s" if is_late else f"it ended the process that tried it, with {ended}"
        return TrialResult(f"{name}: {what}.")
    return said


def folder_digest(folder: Path) -> str:
    """Return a hash over a folder's code, also behind links, and the versions that run it. Raises OSError."""
    hashed = hashlib.sha256(f"{FORMAT} {platform.python_version()} {_versions()} {folder.resolve()}".encode())
    for path in islice(files_of(folder), MOST_FILES):
        if not path.is_file():
            continue
        facts = path.stat()
        hashed.update(f"\0{path.relative_to(folder)}\0{facts.st_size}\0".encode())
        if path.suffix in HASHED and facts.st_size < 1 << 22:
            hashed.update(path.read_bytes())
        else:
            hashed.update(str(facts.st_mtime_ns).encode())
    return hashed.hexdigest()[:32]


def files_of(folder: Path) -> Iterator[Path]:
    """Yield all that is in a folder, in a fixed order: its own first, then what is behind links to other folders.

    Folders are yielded too, so that a caller can bound the work whatever a link leads to; each is opened once.
    """
    opened: set[str] = set()
    tops = deque([folder])
    while tops:
        for top, folders, files in os.walk(tops.popleft()):
            if (real := os.path.realpath(top)) in opened:
                folders.clear()
                continue
            opened.add(real)
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            here = Path(top)
            yield from (here / name for name in (*sorted(files), *folders))
            tops.extend(here / name for name in folders if (here / name).is_symlink())


def _versions() -> str:
    found = []
    for package in ("arena-kit", "numpy"):
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)


def _said(answer: bytes) -> TrialResult | None:
    """Return the verdict in a line of JSON; None if it is not complete."""
    if not answer.endswith(b"\n"):
        return None
    try:
        data: Any = json.loads(answer)
        facts = data.get("facts")
        return TrialResult(str(data["because"])[:1000], None if facts is None else facts_of(facts))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def facts_of(data: dict[str, Any]) -> Facts:
    """Return facts from JSON. Raises KeyError, TypeError and ValueError."""
    return Facts(
        shape=tuple(int(size) for size in data["shape"]),
        dtype=str(data["dtype"]),
        wire=str(data["wire"]),
        action_count=int(data["action_count"]),
        score=float(data["score"]),
        uses_chance=bool(data["uses_chance"]),
    )


def frozen_facts(spec_id: str, facts: Facts, store: Path | None) -> Facts:
    """Return the facts that were learned first for these rules, and remember them if these are the first."""
    name = f"facts-{spec_id}"
    found = _read(store, name)
    if found is not None:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return facts_of(found)
    _keep(store, name, asdict(facts))
    return facts


def _kept(store: Path | None, name: str) -> TrialResult | None:
    found = _read(store, name)
    return None if found is None else _said(json.dumps(found).encode() + b"\n")


def _read(store: Path | None, name: str) -> Any:
    if store is None:
        return None
    try:
        return json.loads((store / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _keep(store: Path | None, name: str, data: object) -> None:
    """Write a file whole or not at all. A store that cannot be written to costs time only."""
    if store is None:
        return
    with contextlib.suppress(OSError):
        store.mkdir(exist_ok=True)  # a DATA_DIR that is missing stays missing, and is told
        handle, part = tempfile.mkstemp(dir=store, prefix=".part-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file)
        Path(part).replace(store / f"{name}.json")
