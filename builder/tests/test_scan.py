"""The operator's scanner: its arguments and the meaning of its exit status."""

from __future__ import annotations

import sys

import pytest

from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from builder.scan import scan


def run(code: str, seconds: float = 20) -> None:
    scan([sys.executable, "-c", code], image="prefix:s1", sbom=b'{"bomFormat": "CycloneDX"}', seconds=seconds)


def test_the_scanner_gets_the_bill_of_materials_and_the_name_of_the_image() -> None:
    run("import json, sys; path, image = sys.argv[1:]; assert json.load(open(path))['bomFormat'] == 'CycloneDX' and "
        "image == 'prefix:s1'")  # fmt: skip


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            r"print('\n  six 1.16.0 has \x1b[31mCVE-1.\nmore'); raise SystemExit(1)",
            "The scan refused the image: six 1.16.0 has [31mCVE-1.",
        ),
        ("raise SystemExit(7)", "The scan refused the image: it ended with status 7"),
        ("print('x' * 9999, flush=True); raise SystemExit(1)", "The scan refused the image: " + "x" * 300),
    ],
)
def test_what_it_refuses_fails_the_build_with_its_first_line(code: str, sentence: str) -> None:
    with pytest.raises(BuildFailed) as caught:
        run(code)

    assert (caught.value.code, str(caught.value)) == ("scan_refused", sentence)


@pytest.mark.parametrize("code", ["import time; time.sleep(60)", "import os; os.kill(os.getpid(), 9)"])
def test_a_scanner_that_does_not_end_by_itself_is_the_platforms_trouble(code: str) -> None:
    with pytest.raises(BuilderUnavailable) as caught:
        run(code, seconds=1)

    assert caught.value.code == "scan_failed"


def test_a_scanner_that_is_not_there_is_the_platforms_trouble() -> None:
    with pytest.raises(BuilderUnavailable, match="cannot be run") as caught:
        scan(["/no/such/scanner"], image="x", sbom=b"")

    assert caught.value.code == "scan_failed"
