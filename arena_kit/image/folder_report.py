"""Reports on the folder of an environment in locked-down containers: its code is taken for hostile."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import yaml

from arena_kit.environment.outside.report import KILL_SECONDS, MOST_CHARACTERS, PROGRAM, SECONDS, Report, report_made
from arena_kit.image.calls import base_image_id, engine
from arena_kit.image.container import WORK, LockedContainer
from arena_kit.image.labels import container_name

LIBRARY = Path(__file__).resolve().parents[1]
PARTS = ("*.py", "environment/**/*.py", "machine/**/*.py")
"""The files of the library that a report needs."""
LIBRARY_FOLDER, FOLDER = "library", "folder"
"""The folders in the container for the library, and for that of the environment."""

COMMAND = ("timeout", "-s", "KILL", str(KILL_SECONDS), "python3", "-s", "-B", "-m", PROGRAM, "-", "0")


def folder_report(folder: Path, *, image: str, prefix: str, still_wanted: Callable[[], None] = lambda: None) -> Report:
    """Return the report on a folder, from a container of its own for each run, without a network.

    image: the name of an image with Python and NumPy. prefix: of the arena's containers. still_wanted: called between
    the runs; raises to end them. Raises BuilderUnavailable.
    """
    files = {**_library(), **_files(folder, f"{FOLDER}/{folder.name}")}
    with engine() as client:
        image_id = base_image_id(client, image)

        def run(hash_seed: str) -> tuple[str, int]:
            still_wanted()
            name = container_name(prefix, f"environment-{uuid.uuid4().hex}")
            variables = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{WORK}/{LIBRARY_FOLDER}"}
            with LockedContainer(client, image_id, name=name, prefix=prefix, environment=variables) as container:
                container.make_folders(*sorted({str(parent) for name in files for parent in _parents(name)}))
                container.put(files)
                place = f"{WORK}/{FOLDER}/{folder.name}"
                status, output = container.run((*COMMAND, place, f"{SECONDS:g}"), limit=MOST_CHARACTERS)
            return output, status

        return report_made(run)


def _library() -> dict[str, bytes]:
    """Return the library and PyYAML, which is Python alone without its extension, as files by name."""
    ours = [path for part in PARTS for path in LIBRARY.glob(part) if "tests" not in path.parts]
    yaml_folder = Path(yaml.__file__).parent
    found = {f"{LIBRARY_FOLDER}/{path.relative_to(LIBRARY.parent).as_posix()}": path.read_bytes() for path in ours}
    return found | {f"{LIBRARY_FOLDER}/yaml/{path.name}": path.read_bytes() for path in yaml_folder.glob("*.py")}


def _files(folder: Path, name: str) -> dict[str, bytes]:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    return {f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in paths}


def _parents(name: str) -> list[Path]:
    return [parent for parent in Path(name).parents if parent != Path()]
