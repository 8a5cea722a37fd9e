"""The start of a player in every sandbox: the player server, environment variables, a user and the player's folder."""

from __future__ import annotations

import functools
import importlib.util
import os
import py_compile
import site
import sys
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from arena_kit import contract, frames
from arena_kit.machine import loopback
from arena_kit.sandbox.base import FOLDER_PREFIX, SandboxError

PLAYER_SERVER = Path(__file__).with_name("inside") / "player_server"
PLAYER_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # A player has one core, on which more threads would only wait for each other.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
MODEL_SOCKET = "ARENA_MODEL_SOCKET"
"""The variable that names the socket of the gateway to a language model."""
SHARED = {"contract": contract, "frames": frames, "loopback": loopback}
"""Modules of the library that servers import, too."""
FIRST_PLAYER_UID, PLAYER_UID_COUNT = 60706, 478
"""The range of players' user ids: no distribution gives out 60706 to 61183, and 65534 is avoided because file systems
may reserve blocks for it."""


@functools.cache
def server_files(server: Path) -> Mapping[str, bytes]:
    """Return the files of a server that runs in a container by their paths in it, as sources and compiled.

    Containers have no library, so the modules of SHARED are among the files, and imported from there. Players cannot
    keep what their Python compiles, so each start would compile the sources anew. A Python of another version ignores
    what is compiled here.
    """
    sources = {str(path.relative_to(server)): path.read_bytes() for path in server.rglob("*.py")}
    sources |= {f"{name}.py": Path(str(module.__file__)).read_bytes() for name, module in SHARED.items()}
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory(prefix="arena-server-") as folder:
        source, compiled = Path(folder) / "source", Path(folder) / "compiled"
        for name, content in sources.items():
            for module in SHARED.values():
                own = module.__name__.rpartition(".")[2]
                content = content.replace(f"from {module.__name__} import".encode(), f"from .{own} import".encode())
            files[name] = content
            source.write_bytes(files[name])
            # Without a look at the source's date, which is another for each copy.
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(source), str(compiled), name, doraise=True, invalidation_mode=mode)
            files[importlib.util.cache_from_source(name)] = compiled.read_bytes()
    return files


def copy_server(server: Path, channel: Path) -> Path:
    """Write the files of a server into the folder of a channel; return their folder. Raises SandboxError."""
    target = channel / server.name
    try:
        for name, content in server_files(server).items():
            path = target / name
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o644)
    except OSError as error:
        raise SandboxError(f"The server of a container cannot be copied: {error}.", code="channel_failed") from None
    return target


def interpreter() -> tuple[list[str], dict[str, str]]:
    """Return the command of the Python of players at home, and the variables by which it finds all of its packages.

    pip installs for the user alone where it may not write to Python's own folder, and the module systems of clusters
    set LD_LIBRARY_PATH.
    """
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    if site.ENABLE_USER_SITE and Path(site.getusersitepackages()).is_dir():
        return [sys.executable], {**kept, "PYTHONUSERBASE": site.getuserbase()}
    return [sys.executable, "-s"], kept


def player_uid(name: str) -> int:
    """Return the user id of a submission that is launched under `name`.

    The kernel counts some resources per user, even across containers, so players that run at the same time should have
    different ones.
    """
    return FIRST_PLAYER_UID + zlib.crc32(name.encode()) % PLAYER_UID_COUNT


def player_folder(image: str) -> Path | None:
    """Return the folder that a `folder:PATH` image names, or None for an engine's image. Raises SandboxError."""
    if not image.startswith(FOLDER_PREFIX):
        return None
    folder = Path(image.removeprefix(FOLDER_PREFIX)).resolve()
    if not folder.is_dir():
        raise SandboxError(f"The unpacked player {folder.name} is missing on this host.", code="image_missing")
    return folder
