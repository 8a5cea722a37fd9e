"""Writes the generated code of the proto files: `python executor/generate.py`. A test regenerates and compares."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parent
PROTO = ROOT / "proto"
GENERATED = ROOT / "generated"
RELEASED = PROTO / "released.binpb"
"""The descriptors that clients have: what is in them never changes."""
FILES = ("executor/executor.proto",)
PACKAGE = "executor.generated"


def generate(target: Path) -> None:
    """Write the modules and their types into a folder, as packages of PACKAGE."""
    plugin = Path(sys.executable).parent
    outputs = [f"--{kind}_out={target}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    plugins = [f"--plugin=protoc-gen-{kind}={plugin / f'protoc-gen-{kind}'}" for kind in ("mypy", "mypy_grpc")]
    _protoc(*plugins, *outputs)
    for path in [*target.rglob("*.py"), *target.rglob("*.pyi")]:
        # The compiler takes the folder of the proto files for the root of all packages.
        text = re.sub(
            r"^(from|import) (executor)\b",
            rf"\1 {PACKAGE}.\2",
            path.read_text(),
            flags=re.MULTILINE,
        )
        path.write_text(text)
    for name in ("", "executor"):
        (target / name / "__init__.py").write_text("")


def descriptors() -> bytes:
    """Return the descriptors of the proto files as they are now."""
    with tempfile.NamedTemporaryFile(suffix=".binpb") as file:
        _protoc("--include_imports", f"--descriptor_set_out={file.name}")
        return file.read()


def _protoc(*options: str) -> None:
    known = files("grpc_tools") / "_proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"-I{known}", *options, *FILES]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    generate(GENERATED)
    if "--release" in sys.argv:
        RELEASED.write_bytes(descriptors())
