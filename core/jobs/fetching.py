"""Has the images of players on this host before they play: pulls from the registry what is missing."""

from __future__ import annotations

import time

from docker import DockerClient
from docker.errors import ImageNotFound

from arena_kit.errors import PlatformFault
from arena_kit.image.calls import engine, engine_errors
from arena_kit.image.errors import BuilderUnavailable
from arena_kit.image.registry import SILENCE_SECONDS
from core.jobs.images import image_cache, player_registry
from core.jobs.lease import Lease
from core.jobs.log import log_stage
from core.models import Submission


def images_fetch(*submissions: Submission, lease: Lease) -> None:
    """Pull the images of submissions that this host lacks, and note that all are used now. Raises PlatformFault.

    An image that no registry has is left to the sandbox, which says that it is missing.
    """
    registry = player_registry()
    stored = {one.image_digest: one for one in submissions if one.image_digest and one.registry_digest}
    if registry is None or not stored:
        return
    log_stage("fetch")
    try:
        with engine(SILENCE_SECONDS) as client:
            for image_id, submission in stored.items():
                # Noted first, so that the image is not removed again before it plays.
                image_cache().use(image_id)
                if _is_here(client, image_id):
                    continue
                begun = time.monotonic()
                lease.log(f"The image of {submission} is pulled from the registry.")
                registry.pull(
                    client,
                    submission.registry_digest,
                    image=submission.image,
                    content_id=image_id,
                    still_wanted=lease.raise_if_lost,
                )
                lease.log(f"The pull took {time.monotonic() - begun:.1f} s.")
    except BuilderUnavailable as trouble:
        raise PlatformFault(str(trouble), code=trouble.code) from trouble


def _is_here(client: DockerClient, image_id: str) -> bool:
    with engine_errors():
        try:
            client.images.get(image_id)
        except ImageNotFound:
            return False
        return True
