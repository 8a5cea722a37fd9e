"""A zip of arena-kit with all packages that it needs, for rooms without internet: an operator makes it once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage

from core.errors import Refused
from web.kit.wheel import Wheel, requirements

EXTRAS = ("gymnasium", "ranking")
"""The parts that play and rank in local processes; containers need an engine, and images from the internet."""
PLATFORMS = {
    "linux": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "macos": ("macosx_14_0_arm64",),
    "windows": ("win_amd64",),
}
"""The tags of the wheels that a system takes (PEP 425), by its name for uv."""
PYTHONS = ("3.11", "3.12", "3.13")
README = """Install arena-kit from this folder, without internet:

    python -m pip install --no-index --find-links . "arena-kit[{extras}]"

There are wheels for {systems}, with Python {pythons}.
"""


def bundle_name(served: Wheel) -> str:
    """Return the name of the bundle in the site's storage: each content of arena-kit has its own."""
    return f"kit/arena-kit-{served.version}.zip"


def bundle_size(served: Wheel) -> int:
    """Return the size of the bundle in bytes; 0 without one for the present arena-kit."""
    name = bundle_name(served)
    return default_storage.size(name) if default_storage.exists(name) else 0


def bundle_make(*, served: Wheel, systems: Sequence[str], pythons: Sequence[str]) -> int:
    """Fetch the wheels for systems and versions of Python, and store the bundle; return its size in bytes.

    Raises Refused when uv is missing, or when a package cannot be had for one of them.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
        for system in systems:
            for python in pythons:
                _fetch(Path(folder), system, python)
        with zipfile.ZipFile(file, "w") as archive:
            says = README.format(extras=",".join(EXTRAS), systems=", ".join(systems), pythons=", ".join(pythons))
            archive.writestr("README.txt", says)
            archive.writestr(served.filename, served.content)
            for path in sorted(Path(folder).glob("*.whl")):
                archive.write(path, path.name)
        default_storage.delete(bundle_name(served))
        file.seek(0)
        default_storage.save(bundle_name(served), File(file))
    return bundle_size(served)


def bundle_open(served: Wheel) -> IO[bytes]:
    """Open the bundle. Raises FileNotFoundError."""
    return default_storage.open(bundle_name(served))


def _fetch(folder: Path, system: str, python: str) -> None:
    """Put the wheels for one system and version of Python into a folder."""
    # pip resolves for the machine that it runs on; uv does for others.
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))
    if uv is None:
        raise Refused("This needs uv, which finds the packages for other systems. Run: pip install uv")
    where, listed = f"{system} with Python {python}", folder / "listed.txt"
    options = f"--python-platform {system} --python-version {python} --only-binary :all: --system-certs --no-annotate"
    listed.write_text(
        _run(
            [uv, "pip", "compile", "-q", "-", *options.split()],
            where,
            "\n".join(requirements(settings.BASE_DIR, EXTRAS)),
        )
    )
    tags = [word for tag in PLATFORMS[system] for word in ("--platform", tag)]
    options = f"--no-deps --only-binary :all: --python-version {python}"
    command = [sys.executable, "-m", "pip", "download", "-q", *options.split(), *tags]
    _run([*command, "-d", str(folder), "-r", str(listed)], where)


def _run(command: Sequence[str], where: str, text: str = "") -> str:
    own = settings.PIP_ENVIRONMENT
    environment = {**os.environ, **own, "UV_DEFAULT_INDEX": own.get("PIP_INDEX_URL", "https://pypi.org/simple")}
    done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"The packages for {where} cannot be had: {done.stderr.strip()[-1000:]}")
    return done.stdout
