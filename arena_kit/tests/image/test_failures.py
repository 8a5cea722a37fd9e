"""Output of pip 23.0 on Debian 12, with shortened lists, becomes one sentence for the owner."""

from __future__ import annotations

import pytest

from arena_kit.image.errors import BuilderUnavailable, BuildFailed
from arena_kit.image.failures import Missing, failure, missing

NUMPY = """\
ERROR: Could not find a version that satisfies the requirement {0} (from versions: 1.23.2, 2.3.0rc1, 2.3.0, 2.3.1)
ERROR: No matching distribution found for {0}
"""
NOWHERE = """\
Collecting gymnasium[box2d]==0.29.1
  Downloading gymnasium-0.29.1-py3-none-any.whl (953 kB)
ERROR: Could not find a version that satisfies the requirement box2d-py==2.3.5; extra == "box2d" \
(from gymnasium[box2d]) (from versions: none)
ERROR: No matching distribution found for box2d-py==2.3.5; extra == "box2d"
"""
NO_PACKAGE = """\
ERROR: Could not find a version that satisfies the requirement no-such-package-of-rl-arena==1.0 (from versions: none)
ERROR: No matching distribution found for no-such-package-of-rl-arena==1.0
"""
OTHER_PYTHON = """\
ERROR: Ignored the following versions that require a different python version: 3.7 Requires-Python !=3.14.1,>=3.12; \
3.7rc0 Requires-Python !=3.14.1,>=3.12
ERROR: Could not find a version that satisfies the requirement {0} (from versions: 3.5, 3.6rc0, 3.6, 3.6.1)
ERROR: No matching distribution found for {0}
"""
CONFLICT = """\
Collecting six==1.15.0
  Downloading six-1.15.0-py2.py3-none-any.whl (10 kB)
ERROR: Cannot install six==1.15.0 and six==1.16.0 because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested six==1.15.0
    The user requested six==1.16.0
    python-dateutil 2.8.2 depends on six>=1.5

To fix this you could try to:
1. loosen the range of package versions you've specified
2. remove package versions to allow pip attempt to solve the dependency conflict

ERROR: ResolutionImpossible: for help visit https://pip.pypa.io/en/latest/topics/dependency-resolution/
"""
NO_INDEX = """\
Looking in indexes: https://127.0.0.1:1/simple
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by \
'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f8d>: Failed to establish a new \
connection: [Errno 111] Connection refused')': /simple/six/
ERROR: Could not find a version that satisfies the requirement six (from versions: none)
ERROR: No matching distribution found for six
"""


THERE_IS = "Ask for an existing version."
CHECK = "fits the Python of the base image, or there is no such package. Check the name, or leave it out."


@pytest.mark.parametrize(
    ("output", "line", "sentence"),
    [
        (
            NUMPY.format("numpy==9.9"),
            "numpy==9.9",
            f"numpy==9.9: no version of numpy fits; the newest here is 2.3.1. {THERE_IS}",
        ),
        (NOWHERE, "", f"box2d-py==2.3.5 (needed by gymnasium[box2d]): no wheel of box2d-py {CHECK}"),
        (
            NO_PACKAGE,
            "no-such-package-of-rl-arena==1.0",
            f"no-such-package-of-rl-arena==1.0: no wheel of no-such-package-of-rl-arena {CHECK}",
        ),
        (
            OTHER_PYTHON.format("networkx>=3.7"),
            "networkx>=3.7",
            (
                "networkx>=3.7: no version of networkx fits; "
                f"the wanted one needs Python !=3.14.1,>=3.12, and the newest here is 3.6.1. {THERE_IS}"
            ),
        ),
        (
            OTHER_PYTHON.format("networkx==99"),
            "networkx==99",
            f"networkx==99: no version of networkx fits; the newest here is 3.6.1. {THERE_IS}",
        ),
    ],
)
def test_what_no_wheel_fits_is_named_with_what_there_is(output: str, line: str, sentence: str) -> None:
    absent = missing(1, output)

    assert absent is not None
    assert str(absent.failure(line)) == sentence


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("numpy==9.9", True), ("numpy>=3", True), ("numpy==1.16.4", False), ("numpy<1.20", False), ("numpy", False)],
)
def test_only_what_asks_for_more_than_the_newest_is_too_new(wanted: str, expected: bool) -> None:
    absent = missing(1, NUMPY.format(wanted))

    assert absent is not None
    assert absent.is_too_new is expected


def test_an_index_that_is_away_or_slow_says_nothing_about_a_package() -> None:
    assert missing(1, NO_INDEX) is None
    assert missing(124, NUMPY.format("numpy==9.9")) is None
    assert missing(1, CONFLICT) is None


def test_requirements_that_exclude_each_other_are_named() -> None:
    assert str(failure(1, CONFLICT)) == (
        "These requirements exclude each other: six==1.15.0; six==1.16.0; python-dateutil 2.8.2 depends on six>=1.5. "
        "Widen or drop one of them."
    )


@pytest.mark.parametrize(
    ("status", "output", "kind", "code"),
    [
        (1, "OSError: [Errno 28] No space left on device", BuilderUnavailable, "disk_full"),
        (1, "Temporary failure in name resolution", BuilderUnavailable, "index_unreachable"),
        (1, "ReadTimeoutError: Read timed out.", BuilderUnavailable, "index_unreachable"),
        (1, "ERROR: 503 Server Error: Service Unavailable for url: https://", BuilderUnavailable, "index_unreachable"),
        (1, NO_INDEX, BuilderUnavailable, "index_unreachable"),
        (124, "Downloading", BuildFailed, "requirements_too_slow"),
        (124, "Max retries exceeded, Read timed out.", BuildFailed, "requirements_too_slow"),
        (121, "Downloading", BuildFailed, "requirements_too_large"),
        (122, "Installing", BuildFailed, "requirements_too_many_files"),
        (137, "Downloading", BuildFailed, "requirements_out_of_memory"),
        (1, CONFLICT, BuildFailed, "requirements_conflict"),
        (1, "ERROR: six-1.whl is not a valid wheel filename.", BuildFailed, "requirements_failed"),
        (2, "", BuildFailed, "requirements_failed"),
    ],
)
def test_every_failure_has_a_code_of_its_own_and_one_line(
    status: int, output: str, kind: type[Exception], code: str
) -> None:
    found = failure(status, output)

    assert (type(found), found.code) == (kind, code)
    assert len(str(found).splitlines()) == 1


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [
        ("cv2", "Did you mean opencv-python-headless?"),
        ("stable-baselines==3", "stable-baselines has no wheels. Write stable-baselines3 instead."),
        ("qqqq", "Check the name, or leave it out."),
        ("json", "json is a part of Python. Leave it out."),
    ],
)
def test_a_package_that_is_not_there_is_told_what_was_probably_meant(wanted: str, advice: str) -> None:
    assert str(Missing(wanted).failure(wanted)).endswith(advice)
