from __future__ import annotations

from xml.etree import ElementTree

import pytest

from environments.registry import all_specs
from environments.replay import replay
from environments.spec import EnvironmentSpec
from environments.svg import label, svg
from environments.tests.playing import match_record

SVG = "{http://www.w3.org/2000/svg}"


def test_texts_are_escaped() -> None:
    picture = svg(10, 10, "<b> & co", [label(1, 1, 9, "</text><script>")], description='"a" < b')
    root = ElementTree.fromstring(picture)
    assert root.findtext(f"{SVG}title") == "<b> & co"
    assert root.findtext(f"{SVG}desc") == '"a" < b'
    assert root.find(f".//{SVG}script") is None


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_every_picture_describes_itself_and_loads_nothing(spec: EnvironmentSpec) -> None:
    frames = [step.frame for step in replay(spec, match_record(spec))]
    for picture in (spec.render(frame) for frame in frames):
        assert ElementTree.fromstring(picture).findtext(f"{SVG}desc")
        assert picture.count("http") == 1  # the name of SVG itself
        assert "url(" not in picture


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_a_picture_styles_nothing_outside_itself(spec: EnvironmentSpec) -> None:
    environment = spec.make()
    environment.reset(0)
    style = ElementTree.fromstring(spec.render(environment.frame())).findtext(f"{SVG}style") or ""
    rules = style.replace("@media(prefers-color-scheme:dark){", "").split("}")
    assert all(rule.strip().startswith(".frame ") for rule in rules if rule.strip())


@pytest.mark.parametrize("spec", all_specs(), ids=lambda spec: str(spec.id))
def test_the_card_picture_is_sixteen_by_nine(spec: EnvironmentSpec) -> None:
    root = ElementTree.parse(spec.folder / "static" / spec.image).getroot()
    assert root.get("viewBox") == "0 0 640 360"
    assert root.findtext(f"{SVG}title") == spec.name
