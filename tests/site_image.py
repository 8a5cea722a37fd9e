"""The site's image, built from the project's Dockerfile on stand-ins for its base images, which are Debian's.

No registry of images is asked: Python is that of the players' base image, Node.js and npm are this machine's.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

import docker
from django.conf import settings

ROOT = Path(__file__).parents[1]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BUILD_SECONDS = 1800
PYTHON = """
FROM {base}
COPY etc /etc
RUN ln -s python3 /usr/bin/python && rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && chmod 1777 /tmp
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
"""
NODE = """
FROM {base}
COPY etc /etc
COPY node /usr/bin/node
COPY npm /usr/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/bin/npm
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
"""
BASES = {"NODE_IMAGE": NODE, "PYTHON_IMAGE": PYTHON}
"""The arguments of the Dockerfile that name its base images, and what stands in for them."""


def missing_node() -> str:
    """Return why no stand-in can be made for Node.js; empty when one can."""
    return "" if shutil.which("node") and shutil.which("npm") else "Node.js is not installed"


def site_image(client: docker.DockerClient, name: str, *extras: str) -> None:
    """Build it as NAME with these extras, such as grpc. The images NAME-1 and NAME-2 are its bases."""
    arguments = [f"EXTRAS={' '.join(extras)}"]
    arguments += [f"{argument}={base}" for argument, base in base_images(client, name).items()]
    words = [word for argument in arguments for word in ("--build-arg", argument)]
    # Its steps fetch packages by this machine's way out.
    command = ["docker", "build", "--network", "host", "--tag", name, *words, str(ROOT)]
    built = subprocess.run(
        command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "DOCKER_BUILDKIT": "0"},
    )  # fmt: skip
    assert built.returncode == 0, (built.stdout + built.stderr)[-4000:]


def base_images(client: docker.DockerClient, name: str) -> dict[str, str]:
    """Make the stand-ins NAME-1 and NAME-2; return them by the Dockerfile's arguments."""
    made = {}
    for number, (argument, stand_in) in enumerate(BASES.items(), 1):
        made[argument] = f"{name}-{number}"
        stand_in_build(client, made[argument], stand_in)
    return made


def stand_in_build(
    client: docker.DockerClient, name: str, dockerfile: str, network: str = "none", arena: Sequence[str] = ()
) -> None:
    """Build an image from a Dockerfile, in which {base} is the players' base image.

    arena: files and folders of this repository that it may copy from `arena`.
    """
    text = dockerfile.replace("{base}", settings.PLAYER_BASE_IMAGE)
    client.images.build(fileobj=_stand_in(text, arena), custom_context=True, tag=name, rm=True, network_mode=network)


def _stand_in(dockerfile: str, arena: Sequence[str]) -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as context:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile.encode())
        context.addfile(entry, io.BytesIO(dockerfile.encode()))
        context.add(CERTIFICATES.resolve(), "etc/ssl/certs/ca-certificates.crt")
        for name in arena:
            context.add(ROOT / name, f"arena/{name}")
        if "COPY node" in dockerfile:
            context.add(Path(str(shutil.which("node"))).resolve(), "node")
            context.add(Path(str(shutil.which("npm"))).resolve().parents[1], "npm")
    file.seek(0)
    return file
