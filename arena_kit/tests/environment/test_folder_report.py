"""A report on a folder says line by line what it keeps and what it breaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arena_kit.environment.outside.report import (
    BAD,
    DIFFERS,
    GOOD,
    LOOK,
    STEPS,
    Report,
    report_from,
    report_here,
    report_made,
)
from arena_kit.environment.svg import unknown_classes
from arena_kit.tests.environment.edited import nim


def marks(report: Report) -> dict[str, str]:
    return {line.about: line.mark for line in report.lines}


def said(report: Report, about: str) -> str:
    return next(line.sentence for line in report.lines if line.about == about)


def test_a_good_folder_has_a_good_line_for_each_step_and_a_match_to_look_at(tmp_path: Path) -> None:
    report = report_here(nim(tmp_path))
    assert marks(report) == dict.fromkeys((*STEPS, "Reach", "Same again"), GOOD), report.lines
    assert report.trouble == ""
    assert report.shown[0].text == "10 stones are left."
    assert report.shown[0].picture.startswith("<svg ")
    assert report_from(report.to_json()) == report


def test_a_broken_promise_is_the_trouble_and_the_last_line(tmp_path: Path) -> None:
    broken = nim(tmp_path, environment=("            raise IllegalAction", "            return (0.0, 0.0)  #"))
    report = report_here(broken)
    assert list(marks(report).items()) == [("Files", GOOD), ("Rules", BAD)]
    assert report.trouble == "Rules: nim: nim-v1: the action -1 does not raise IllegalAction."
    assert report.shown == ()


def test_code_that_never_ends_is_ended_with_its_line(tmp_path: Path) -> None:
    report = report_here(nim(tmp_path, begins="while True: pass"), seconds=6)
    assert marks(report)["Rules"] == BAD
    assert said(report, "Rules").startswith("nim/environment.py, line ")
    assert said(report, "Rules").endswith("it takes more than 6 s.")


def test_code_that_ends_its_process_is_refused(tmp_path: Path) -> None:
    report = report_here(nim(tmp_path, begins="import os; os._exit(0)"))
    assert report.trouble.startswith("End: The code ended the process that tried it, with the exit status 0")


@pytest.mark.parametrize(
    ("begins", "mark", "what"),
    [
        ("import socket; socket.socket().connect_ex(('127.0.0.1', 9))", BAD, "it uses the network, and there is none."),
        ("import subprocess; subprocess.run(['true'])", BAD, "it starts another program."),
        ("open('/etc/hostname').close()", LOOK, "it reads /etc/hostname."),
    ],
)
def test_what_code_reaches_for_is_named_with_its_line(tmp_path: Path, begins: str, mark: str, what: str) -> None:
    report = report_here(nim(tmp_path, begins=begins))
    lines = [line for line in report.lines if line.about == "Reach"]
    assert [line.mark for line in lines] == [mark], report.lines
    assert lines[0].sentence.startswith("environment.py, line ")
    assert lines[0].sentence.endswith(what)


def test_classes_without_a_style_are_named(tmp_path: Path) -> None:
    report = report_here(nim(tmp_path, render=('class="first"', 'class="hole"')))
    assert marks(report)["Pictures"] == LOOK
    assert said(report, "Pictures") == "No style knows the classes hole: such shapes are black."
    assert report.trouble == ""


def test_a_class_is_known_by_a_style_of_the_picture_and_not_needed_beside_a_colour() -> None:
    picture = '<svg><style>.a b, .c{fill:red}</style><g class="a"/><g class="x c"/><g class="d" fill="red"/></svg>'
    assert unknown_classes(picture) == set()
    assert unknown_classes(picture + '<rect class="e f"/>') == {"e", "f"}


def test_rules_that_depend_on_the_order_of_a_set_are_refused(tmp_path: Path) -> None:
    begins = "self._stones = 5 + list(set('abcdef')).index('a') % 5"
    report = report_here(nim(tmp_path, begins=begins))
    assert said(report, "Same again") == DIFFERS
    assert report.trouble.startswith("Same again: ")


@pytest.mark.parametrize(
    "written",
    [
        "",
        "no JSON\n",
        '{"line": ["Files", "good", "fine"]}\n',
        '{"line": ["Files", "good", "fine"]}\n{"end": true}\n',
        '{"line": ["Files", "perfect", "fine"]}\n{"end": true}\n',
        "".join(json.dumps({"line": [about, "good", "fine"]}) + "\n" for about in STEPS) + '{"end": true}\n',
        "[" * 100_000 + "\n",
    ],
)
def test_a_report_that_is_not_whole_is_a_refusal(written: str) -> None:
    report = report_made(lambda _: (written, 0))
    assert report.lines[-1].mark == BAD
    assert report.trouble


def test_controls_and_too_long_text_do_not_get_through() -> None:
    lines = [json.dumps({"line": ["Rules\x1b[2J", "bad", "x" * 5000 + "\x00"]}), '{"end": true}']
    (line,) = report_made(lambda _: ("\n".join(lines), 0)).lines
    assert line.about == "Rules[2J"
    assert line.sentence == "x" * 600
