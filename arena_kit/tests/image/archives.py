"""Archives and wheels for the builder's tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from arena_kit.zips import zip_bytes

PLAYER = "class Player: ...\n"


def archive(files: Mapping[str, str] | None = None) -> io.BytesIO:
    """Return a zip with a player.py and these files."""
    wanted = {"player.py": PLAYER, **(files or {})}
    return io.BytesIO(zip_bytes((name, text.encode()) for name, text in wanted.items()))


TRAP = "raise SystemExit('the trap ran')\n"


def trap_wheel() -> tuple[str, bytes]:
    """Return the name and content of a wheel with everything that might run by itself."""
    files = {
        "trap/__init__.py": TRAP,
        "trap.pth": "import trap\n",
        "sitecustomize.py": TRAP,
        "usercustomize.py": TRAP,
        "setup.py": TRAP,
        "pip.py": TRAP,
        "trap-1.0.data/scripts/python3": "#!python\n" + TRAP,
        "trap-1.0.data/data/bin/sh": "#!/usr/bin/python3\n" + TRAP,
        "trap-1.0.data/data/sitecustomize2.pth": "import trap\n",
        "trap-1.0.data/purelib/deep.pth": "import trap\n",
        "trap-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: trap\nVersion: 1.0\n",
        "trap-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "trap-1.0.dist-info/entry_points.txt": "[console_scripts]\ntrap = trap:main\n[pip.plugins]\ntrap = trap:main\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, "trap-1.0.dist-info/RECORD"))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        for name, text in {**files, "trap-1.0.dist-info/RECORD": record}.items():
            packed.writestr(name, text)
    return "trap-1.0-py3-none-any.whl", file.getvalue()
