"""The images of a test's cluster: the referee's, of this folder's code, and a base for players."""

from __future__ import annotations

import io
import platform
import tarfile
from importlib.metadata import distribution
from pathlib import Path

import docker

from arena_kit.image.registry import Registry

ROOT = Path(__file__).parents[2]
CODE = ("arena_kit", "environments", "example_players")
NEEDED = ("numpy", "pyyaml", "packaging", "tqdm", "gymnasium", "cloudpickle", "farama-notifications",
          "typing-extensions")  # fmt: skip
"""What the referee imports. The same versions as here, which records name."""
DOCKERFILE = """
FROM {whole} AS whole
FROM {small}
COPY --from=whole {libraries}/libstdc++.so.6* {libraries}/libgcc_s.so.1 {libraries}/libpthread.so.0 \\
    {libraries}/libdl.so.2 {libraries}/librt.so.1 {libraries}/libutil.so.1 {libraries}/
COPY app /app
ENV PYTHONPATH=/app/packages PYTHONDONTWRITEBYTECODE=1
WORKDIR /app
"""


def referee_image(client: docker.DockerClient, whole: str, small: str, registry: Registry, name: str) -> str:
    """Build the referee's image, push it, and return its name by digest.

    small: a base with Python alone, which gets what NumPy needs of the whole one; both are transferred often.
    """
    text = DOCKERFILE.format(whole=whole, small=small, libraries=f"/usr/lib/{platform.machine()}-linux-gnu")
    client.images.build(fileobj=_context(text), custom_context=True, tag=name, network_mode="none", rm=True)
    return registry.reference(registry.push(client, name))


def _context(dockerfile: str) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as context:
        text = dockerfile.encode()
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(text)
        context.addfile(entry, io.BytesIO(text))
        for name in CODE:
            context.add(ROOT / name, f"app/{name}", filter=_kept)
        for package in NEEDED:
            for path in distribution(package).files or ():
                if not path.parts[0].startswith("..") and "tests" not in path.parts:
                    context.add(str(path.locate()), f"app/packages/{path}", filter=_kept)
    file.seek(0)
    return file


def _kept(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    entry.mode |= 0o555 if entry.isdir() else 0o444
    return None if "__pycache__" in entry.name or "/tests" in entry.name else entry
