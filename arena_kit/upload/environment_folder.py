"""Reads the folder of an environment from a zip. Nothing of it runs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from arena_kit.environment.folder import MOST_BYTES
from arena_kit.environment.info import BadInfo, read_info
from arena_kit.environment.outside.fitting import check_fit
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.upload.archive import unpack_archive
from arena_kit.upload.zip_safety import ArchiveLimits, ArchiveRefused

INFO = "info.yml"
LIMITS = ArchiveLimits(entry_count=2000, file_bytes=32 << 20, total_bytes=MOST_BYTES)


@contextlib.contextmanager
def folder_unpacked(file: IO[bytes]) -> Iterator[tuple[Path, EnvironmentSpec]]:
    """Unpack a zip with an environment; yield its folder, which has the name of its slug, and its spec.

    The zip holds info.yml at its root or in its one folder, as `arena pull` gets it. Of a classic folder, the spec has
    no facts. Raises ArchiveRefused.
    """
    with tempfile.TemporaryDirectory(prefix="arena-environment-") as scratch:
        root = Path(scratch) / "unpacked"
        unpack_archive(file, root, LIMITS, needs_entry_point=False)
        found = [path.parent for path in (root / INFO, *sorted(root.glob(f"*/{INFO}"))) if path.is_file()]
        if not found or (found[0] != root and len(found) > 1):
            raise ArchiveRefused(
                "The zip must hold one folder of an environment, with info.yml in it.", code="no_info", file=INFO
            )
        spec = _spec(found[0] / INFO)
        folder = Path(scratch) / spec.slug
        found[0].rename(folder)
        yield folder, _spec(folder / INFO)


def _spec(path: Path) -> EnvironmentSpec:
    try:
        spec = read_info(path)
        if spec.gymnasium is not None:
            raise ValueError("gymnasium: such an environment is one file, without a folder.")
        if spec.classic is None:
            check_fit(spec)
    except (BadInfo, OSError) as error:
        raise ArchiveRefused(str(error), code="bad_info", file=INFO) from None
    except ValueError as error:
        raise ArchiveRefused(f"{INFO}: {error}", code="bad_info", file=INFO) from None
    return spec
