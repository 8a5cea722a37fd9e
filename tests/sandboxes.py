"""In which sandboxes the tests of the whole way play, on a push and by night."""

from __future__ import annotations

import pytest

PLACES = [
    pytest.param("process"),
    pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.nightly]),
]
"""Of tests that ask for `sandbox`: what the site makes of players is the same in both, and processes start faster."""
in_containers = pytest.mark.parametrize(
    "sandbox",
    [pytest.param("process", marks=pytest.mark.nightly), pytest.param("docker", marks=pytest.mark.docker)],
    indirect=True,
)
"""Of tests that show the way itself, or what only containers do: these play in containers on every push."""
