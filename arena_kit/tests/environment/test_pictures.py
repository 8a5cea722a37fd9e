from __future__ import annotations

import functools
import re
from xml.etree import ElementTree

import pytest

from arena_kit.environment.protocol import Frame
from arena_kit.environment.registry import all_specs
from arena_kit.environment.replay import replay
from arena_kit.environment.spec import EnvironmentSpec
from arena_kit.environment.svg import label, svg
from arena_kit.tests.environment.playing import episode, installed, match_record

SVG = "{http://www.w3.org/2000/svg}"
RULE = r"\.frame [^{}]+\{[^{}]*\}"


def test_texts_are_escaped() -> None:
    picture = svg(10, 10, "<b> & co", [label(1, 1, 9, "</text><script>")], description='"a" < b')
    root = ElementTree.fromstring(picture)
    assert root.findtext(f"{SVG}title") == "<b> & co"
    assert root.findtext(f"{SVG}desc") == '"a" < b'
    assert root.find(f".//{SVG}script") is None


@functools.cache
def frames_of(spec: EnvironmentSpec) -> list[Frame]:
    """Return the frames of the start, of some states and of the end."""
    if spec.seats == 2:
        return [step.frame for step in replay(spec, match_record(spec))]
    environment = installed(spec).make()
    environment.reset(0)
    frames = [environment.frame()]
    for number, action in enumerate(episode(spec)[0]):
        environment.step({0: action})
        if number < 3 or not environment.to_move:
            frames.append(environment.frame())
    return frames


@pytest.mark.slow
@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_every_picture_describes_itself_and_loads_nothing(spec: EnvironmentSpec) -> None:
    for picture in (spec.render(frame) for frame in frames_of(spec)):
        assert ElementTree.fromstring(picture).findtext(f"{SVG}desc")
        assert picture.count("http") == 1  # the namespace of SVG
        assert "url(" not in picture


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_a_picture_styles_nothing_outside_itself(spec: EnvironmentSpec) -> None:
    style = ElementTree.fromstring(spec.render(frames_of(spec)[0])).findtext(f"{SVG}style") or ""
    rules = style.replace("@media(prefers-color-scheme:dark){", "").split("}")
    assert all(rule.strip().startswith((".frame ", ".frame:target ")) for rule in rules if rule.strip())


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_a_picture_is_as_dark_by_its_address_as_by_the_scheme(spec: EnvironmentSpec) -> None:
    for picture in (spec.render(frames_of(spec)[0]), (spec.folder / "static" / spec.image).read_text(encoding="utf-8")):
        root = ElementTree.fromstring(picture)
        assert root.get("id") == "dark"
        style = root.findtext(f"{SVG}style") or ""
        by_scheme = "".join(re.findall(r"@media\(prefers-color-scheme:dark\)\{((?:[^{}]+\{[^{}]*\})+)\s*\}", style))
        by_address = re.findall(r"\.frame:target [^{}]+\{[^{}]*\}", style)
        assert by_address == [rule.replace(".frame ", ".frame:target ") for rule in re.findall(RULE, by_scheme)] != []


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_the_card_picture_is_sixteen_by_nine(spec: EnvironmentSpec) -> None:
    root = ElementTree.parse(spec.folder / "static" / spec.image).getroot()
    assert root.get("viewBox") == "0 0 640 360"
    assert root.findtext(f"{SVG}title") == spec.name
