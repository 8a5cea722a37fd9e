"""Copies of organisers' rules: made by a sync, found by their ids, never changed by later rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena_kit.environment.folder import environment_zip
from arena_kit.environment.outside.copies import copies_announce, copy_file, copy_keep
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import all_specs, get_spec, info_path, read_own
from arena_kit.environment.server.client import server_of
from arena_kit.tests.environment.outside import copied, outside


def new_rules(folder: Path) -> None:
    """Let ten stones become twelve, in a second version of the rules."""
    info, code = folder / "nim" / "info.yml", folder / "nim" / "environment.py"
    info.write_text(info.read_text().replace("version: 1", "version: 2").replace("max_steps: 10", "max_steps: 12"))
    code.write_text(code.read_text().replace("_stones = 10", "_stones = 12"))


def stones(name: str) -> object:
    match = get_spec(name).make()
    match.reset(1)
    return match.frame()["stones"]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    copied("nim", tmp_path / "own")
    return tmp_path / "own"


def synced(own: Path) -> None:
    """Do what a sync does to files, as another process would."""
    for spec in read_own(own).values():
        copy_keep(spec)  # type: ignore[arg-type]
    copies_announce(own)


def test_earlier_rules_are_played_from_their_copy_and_new_ones_without_a_restart(
    own: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with outside(own, monkeypatch, tmp_path / "trials"):
        synced(own)
        assert (get_spec("nim-v1").file, stones("nim-v1")) == (own / "nim" / "info.yml", 10)
        new_rules(own)
        with pytest.raises(UnknownEnvironment, match="There is no environment 'nim-v2'"):
            get_spec("nim-v2")

        synced(own)

        assert (get_spec("nim").id, stones("nim-v2")) == ("nim-v2", 12)
        earlier = get_spec("nim-v1")
        assert (earlier.is_outside, info_path(earlier)) == (True, own / "earlier" / "nim-v1" / "info.yml")
        assert stones("nim-v1") == 10
        assert [spec.id for spec in all_specs() if spec.slug == "nim"] == ["nim-v2"]
        assert b"nim-v1/environment.py" in environment_zip(earlier)


def test_a_mend_replaces_the_copy_and_matches_begin_with_the_mended_code(
    own: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = own / "nim" / "environment.py"
    with outside(own, monkeypatch, tmp_path / "trials"):
        synced(own)
        before = get_spec("nim")
        match = before.make()
        match.reset(1)
        code.write_text(code.read_text().replace("_stones = 10", "_stones = 9"))
        synced(own)

        assert stones("nim") == 9
        assert (own / "earlier" / "nim-v1" / "environment.py").read_text() == code.read_text()
        match.step({0: 0})
        assert match.frame()["stones"] == 9, "a match that has begun is played to its end"
        assert server_of(get_spec("nim")) is not server_of(before)


def test_a_copy_stays_as_it_was_once_later_rules_were_kept(own: Path) -> None:
    synced(own)
    new_rules(own)
    synced(own)
    kept = own / "earlier" / "nim-v1" / "environment.py"
    assert "_stones = 10" in kept.read_text()

    info = own / "nim" / "info.yml"
    info.write_text(info.read_text().replace("version: 2", "version: 1"))
    synced(own)

    assert "_stones = 10" in kept.read_text()
    assert copy_file(own, "nim-v2") is not None


def test_a_copy_holds_what_is_behind_links_and_nothing_hidden(own: Path) -> None:
    shared = own.parent / "shared.py"
    shared.write_text("LEFT = 1\n")
    (own / "nim" / "shared.py").symlink_to(shared)
    (own / "nim" / ".git").mkdir()
    (own / "nim" / ".git" / "config").write_text("[core]\n")
    (own / "nim" / "__pycache__").mkdir(exist_ok=True)
    synced(own)
    shared.write_text("LEFT = 2\n")

    kept = own / "earlier" / "nim-v1"
    assert (kept / "shared.py").read_text() == "LEFT = 1\n"
    assert {path.name for path in kept.iterdir()} == {path.name for path in (own / "nim").iterdir()} - {
        ".git",
        "__pycache__",
    }
    assert [path.name for path in (own / "earlier").iterdir()] == ["nim-v1"]


def test_a_file_about_an_environment_of_gymnasium_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(str(get_spec("cart-pole").file))).read_text()
    mine = tmp_path / "pole.yml"
    mine.write_text(text.replace("slug: cart-pole", "slug: pole\nenv_id: Pole-v7"))
    with outside(tmp_path, monkeypatch):
        synced(tmp_path)
        mine.write_text(mine.read_text() + "version: 2\n")
        synced(tmp_path)
        assert (get_spec("pole").version, get_spec("pole-v1").file) == (
            2,
            tmp_path / "earlier" / "pole-v1" / "pole.yml",
        )


@pytest.mark.parametrize(
    "name", ["../nim", "earlier/nim-v1", "nim-v1/..", "nim", ".", "", "nim-v1\n", "NIM-v1", "/nim-v1"]
)
def test_a_name_leads_to_no_other_folder(own: Path, name: str) -> None:
    synced(own)
    assert copy_file(own, name) is None
    assert copy_file(own, "nim-v1") is not None
