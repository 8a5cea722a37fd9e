"""The bill of materials of the image that this runs in, as CycloneDX 1.5: of Debian, Python and browsers' scripts.

    docker run --rm rl-arena python .ci/sbom.py > sbom.json

Standard library only. There is no time in it, so that equal images give equal documents.
"""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = uuid.UUID("3c1b9e0e-2f61-5b3e-8f0a-6d7a5a1c9b42")


def component(kind: str, name: str, version: str, purl: str) -> dict[str, str]:
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def debian() -> Iterator[dict[str, str]]:
    """Yield what dpkg has installed; nothing where there is no dpkg."""
    if shutil.which("dpkg-query"):
        form = "${Package} ${Version} ${Architecture}\n"
        shown = subprocess.run(["dpkg-query", "-W", "-f", form], check=True, capture_output=True, text=True).stdout
        for name, version, architecture in (line.split() for line in shown.splitlines()):
            yield component("library", name, version, f"pkg:deb/debian/{name}@{quote(version)}?arch={architecture}")


def python() -> Iterator[dict[str, str]]:
    yield component("platform", "python", platform.python_version(), f"pkg:generic/python@{platform.python_version()}")
    found = {(one.name.lower().replace("_", "-"), one.version) for one in distributions()}
    for name, version in sorted(found):
        yield component("library", name, version, f"pkg:pypi/{name}@{quote(version)}")


def scripts() -> Iterator[dict[str, str]]:
    """Yield the packages whose files browsers load."""
    for path, package in json.loads((ROOT / "package-lock.json").read_text())["packages"].items():
        if path:
            name, version = path.removeprefix("node_modules/"), package["version"]
            yield component("library", name, version, f"pkg:npm/{quote(name)}@{version}")


def document() -> dict[str, object]:
    parts = [*debian(), *python(), *scripts()]
    digest = uuid.uuid5(NAMESPACE, "\n".join(part["purl"] for part in parts))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{digest}",
        "version": 1,
        "metadata": {"component": {"type": "container", "bom-ref": "rl-arena", "name": "rl-arena"}},
        "components": parts,
    }


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=1)
    print()
