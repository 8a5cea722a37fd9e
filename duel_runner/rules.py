"""The rules that a job is played with."""

from __future__ import annotations

from core.models import Evaluation, PlayedJob
from core.worker import PlatformFault
from environments.api import UnknownEnvironment
from environments.registry import get_spec
from environments.spec import EnvironmentSpec


def rules(job: PlayedJob | Evaluation) -> EnvironmentSpec:
    """The very version of the rules that a job was created for: an edition never mixes two. Raises PlatformFault."""
    try:
        return get_spec(job.environment_version)
    except UnknownEnvironment:
        raise PlatformFault(
            f"The rules of this {job.KIND}, {job.environment_version}, are not in this arena's code any more.",
            code="rules_missing",
        ) from None
