"""Environments are tried in a process of their own, so that a crash or a hanging library does not stop the caller."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena_kit.environment.availability import Trials
from arena_kit.environment.protocol import UnknownEnvironment
from arena_kit.environment.registry import all_specs, get_spec, left_out, notes, own_slugs
from arena_kit.tests.environment.own import coded, described, own_folder


def test_games_need_nothing_but_the_arena() -> None:
    assert Trials([spec.slug for spec in all_specs() if spec.seats == 2]).finish() == {}


@pytest.mark.slow
def test_what_is_missing_raises_crashes_or_hangs_is_told_apart_and_the_rest_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    described(tmp_path, "missing", "no_such_module:Name-v0")
    mark = str(tmp_path / "was-tried")
    for name, trouble in (
        ("late", f"os.path.exists({mark!r}) or (open({mark!r}, 'w').close(), time.sleep(600))"),
        ("raises", "raise OSError('no licence')"),
        ("crashes", "os._exit(7)"),
        ("hangs", "time.sleep(600)"),
    ):
        described(tmp_path, name, coded(tmp_path, name, trouble))

    trials = Trials(["missing", "late", "raises", "crashes", "hangs", "cart-pole", "quarto"], (tmp_path,), seconds=5)
    found = trials.finish()

    assert set(found) == {"missing", "raises", "crashes", "hangs"}
    assert [slug for slug, trouble in found.items() if trouble.is_missing] == ["missing"]
    assert found["missing"].hint == "Install what provides it."
    assert "pip install" not in found["missing"].because
    assert "no licence" in found["raises"].because
    assert "ends the process" in found["crashes"].because
    assert "takes more than 10 s" in found["hangs"].because


def test_a_file_of_ones_own_that_is_wrong_is_left_out_with_a_sentence_and_the_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described(tmp_path, "mine", "CartPole-v1", env_id="Mine-v1")
    (tmp_path / "bad.yml").write_text("slug: bad\n")
    described(tmp_path, "cart-pole", "CartPole-v1")
    described(tmp_path, "pole", "CartPole-v1")
    (tmp_path / "latin.yml").write_bytes(b"name: \xff\n")
    with own_folder(tmp_path, monkeypatch):
        assert own_slugs() == {"mine"}
        assert get_spec("cart-pole").folder.name == "gymnasium"
        reasons = {one.path.name: one.because for one in left_out()}
        assert "this key is missing" in reasons["bad.yml"]
        assert (
            ": slug: another environment, one of the arena, is called 'cart-pole' already" in reasons["cart-pole.yml"]
        )
        assert ": env_id: another environment, one of the arena, is called 'CartPole-v1' already" in reasons["pole.yml"]
        assert "is not YAML" in reasons["latin.yml"]
        for name in ("bad", "bad-v1"):
            with pytest.raises(
                UnknownEnvironment, match=rf"^The environment '{name}' is left out: .*bad\.yml: .*missing\.$"
            ):
                get_spec(name)
        with pytest.raises(UnknownEnvironment, match=r"The environments are: .* Left out: .*bad\.yml"):
            get_spec("good")


def test_a_picture_beside_a_file_of_ones_own_is_found_and_a_missing_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "mine.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    described(tmp_path, "mine", "CartPole-v1", env_id="Mine-v1", image="mine.svg")
    described(tmp_path, "bare", "CartPole-v1", env_id="Bare-v1")
    described(tmp_path, "lost", "CartPole-v1", env_id="Lost-v1", image="lost.svg")
    with own_folder(tmp_path, monkeypatch):
        said = notes()
        assert get_spec("mine").picture == "environments/mine/mine.svg"
    assert said == (f"{tmp_path.name}/lost.yml: image: static/lost.svg does not exist; a neutral picture is shown.",)
