"""Writes the software bill of materials of an image, a CycloneDX 1.5 document (https://cyclonedx.org/docs/1.5/json/)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from arena_kit.image.inventory import Inventory
from arena_kit.image.wheels import Wheel

Component = dict[str, Any]
NAMESPACE = uuid.UUID("6f0f4b0e-3f0c-5f0a-9d52-3b1c6f1d7a11")


def sbom(
    *,
    image: str,
    image_digest: str,
    base_image: str,
    base_digest: str,
    archive_sha256: str,
    base: Inventory,
    wheels: Iterable[Wheel],
) -> bytes:
    """Return the document, which has no time in it, so that equal images give equal documents.

    image_digest, base_digest: `sha256:...`. archive_sha256: hexadecimal.
    """
    components = [
        _image(base_image, base_digest),
        {
            "type": "operating-system",
            "bom-ref": "system",
            "name": base.system,
            **({"version": base.system_version} if base.system_version else {}),
        },
        *(_debian(base.system, *package) for package in sorted(base.debian)),
        {"type": "platform", "bom-ref": "python", "name": "python", "version": base.interpreter},
        *(_python("base", name, version) for name, version in sorted(base.python.items())),
        *(
            _python("requirements", wheel.name, wheel.version) | {"hashes": [_sha256(wheel.sha256)]}
            for wheel in sorted(wheels, key=lambda wheel: wheel.filename)
        ),
        {
            "type": "file",
            "bom-ref": "archive",
            "name": "archive.zip",
            "hashes": [_sha256(archive_sha256)],
        },
    ]
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, image_digest)}",
        "version": 1,
        "metadata": {"component": _image(image, image_digest)},
        "components": components,
    }
    return json.dumps(document, indent=1).encode()


def _image(name: str, digest: str) -> Component:
    return {
        "type": "container",
        "bom-ref": f"image:{digest}",
        "name": name,
        "version": digest,
        "hashes": [_sha256(digest.removeprefix("sha256:"))],
    }


def _sha256(digest: str) -> dict[str, str]:
    return {"alg": "SHA-256", "content": digest}


def _debian(system: str, name: str, version: str, architecture: str) -> Component:
    purl = f"pkg:deb/{quote(system)}/{quote(name, safe='')}@{quote(version, safe='')}?arch={quote(architecture)}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _python(place: str, name: str, version: str) -> Component:
    """place: `base` or `requirements`, because a package may be in both images."""
    purl = f"pkg:pypi/{quote(name, safe='')}@{quote(version, safe='')}"
    return {"type": "library", "bom-ref": f"{place}:{purl}", "name": name, "version": version, "purl": purl}
