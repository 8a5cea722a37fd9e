"""The arena's answers to the broken archives."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy
import pytest

from arena_kit.upload.archive import inspect_archive, read_text
from arena_kit.upload.compiling import check_python_compiles
from arena_kit.upload.requirements import RequirementsRefused, read_requirements
from arena_kit.upload.zip_safety import ArchiveRefused
from example_players.acceptance import ARCHIVES, BrokenArchive, Expected, main, write_broken_archives

REFUSED = [archive for archive in ARCHIVES if archive.expected is Expected.REFUSED]
FAULTS = [archive for archive in ARCHIVES if archive.expected is Expected.FAULT]


def check_upload(content: bytes) -> None:
    """Run all checks of an upload. Raises ArchiveRefused or RequirementsRefused."""
    file = io.BytesIO(content)
    report = inspect_archive(file)
    check_python_compiles(file)
    read_requirements(report, lambda name: read_text(file, name))


@pytest.mark.parametrize("archive", REFUSED, ids=lambda archive: archive.name)
def test_the_upload_is_refused_with_a_sentence(archive: BrokenArchive) -> None:
    with pytest.raises((ArchiveRefused, RequirementsRefused)) as refused:
        check_upload(archive.make())

    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("archive", FAULTS, ids=lambda archive: archive.name)
def test_what_fails_only_in_a_match_passes_the_upload(archive: BrokenArchive) -> None:
    check_upload(archive.make())

    assert archive.make() == archive.make()


def test_the_failing_player_raises_in_about_one_of_ten_steps() -> None:
    (archive,) = [archive for archive in ARCHIVES if archive.name == "player_fails"]
    names: dict[str, object] = {}
    with zipfile.ZipFile(io.BytesIO(archive.make())) as unpacked:
        exec(compile(unpacked.read("player.py"), "player.py", "exec"), names)
    player = names["Player"](False)  # type: ignore[operator]  # a class out of the archive
    state = numpy.zeros(10, dtype=numpy.int64)
    assert player.start(state, state) == 0

    failed = 0
    for _ in range(5000):
        try:
            player.step(state, state, 0.0)
        except RuntimeError:
            failed += 1

    # The bounds are ten standard deviations: 5000 * 0.1 +- 10 * sqrt(5000 * 0.1 * 0.9).
    assert 288 < failed < 712


def test_every_archive_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new" / "folder")]) == 0

    assert len(capsys.readouterr().out.splitlines()) == len(ARCHIVES)
    assert [path.stem for path in write_broken_archives(tmp_path)] == [archive.name for archive in ARCHIVES]
    assert {path.name for path in (tmp_path / "new" / "folder").iterdir()} == {f"{a.name}.zip" for a in ARCHIVES}
