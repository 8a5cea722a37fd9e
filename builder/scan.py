"""Runs the operator's scanner (the setting BUILD_SCAN_COMMAND) on every image before it plays."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from arena_kit.image.errors import BuilderUnavailable, BuildFailed

SCAN_SECONDS = 300
LINE_CHARACTERS = 300


def scan(command: Sequence[str], *, image: str, sbom: bytes, seconds: float = SCAN_SECONDS) -> None:
    """Run the scanner with two more arguments: the path of the bill of materials and the name of the image.

    Raises BuildFailed with the first line of its output if it exits with a status other than 0, and BuilderUnavailable
    if it cannot be run or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="arena-scan-") as folder:
        path = Path(folder) / "sbom.json"
        path.write_bytes(sbom)
        with tempfile.TemporaryFile() as output:
            try:
                status = subprocess.run(
                    [*command, str(path), image],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=seconds,
                    check=False,
                ).returncode
            except (OSError, subprocess.TimeoutExpired) as error:
                why = "takes too long" if isinstance(error, subprocess.TimeoutExpired) else f"cannot be run: {error}"
                raise BuilderUnavailable(f"The scan of images {why}.", code="scan_failed") from None
            output.seek(0)
            lines = output.read(64 * 1024).decode("utf-8", "replace").splitlines()
    if status < 0:
        raise BuilderUnavailable(f"The scan of images was killed by signal {-status}.", code="scan_failed")
    if status:
        said = next((line.strip() for line in lines if line.strip()), f"it ended with status {status}")
        shown = "".join(character for character in said if character.isprintable())[:LINE_CHARACTERS]
        raise BuildFailed(f"The scan refused the image: {shown}", code="scan_refused")
