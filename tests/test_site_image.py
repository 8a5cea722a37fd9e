"""The image of site and workers, from the Dockerfile, with the parts that a cluster needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

import docker
import pytest
from docker.errors import ImageNotFound

from arena_kit.image.calls import engine
from tests.site_image import missing_node, site_image

pytestmark = [pytest.mark.docker, pytest.mark.network, pytest.mark.nightly, pytest.mark.slow]
NAME = f"rl-arena-test-{os.getpid()}-site"


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    with engine() as made:
        yield made
        for name in (NAME, f"{NAME}-2", f"{NAME}-1"):
            with suppress(ImageNotFound):
                made.images.remove(name, force=True)


def test_the_dockerfile_makes_an_image_with_the_executor_and_the_client_of_a_cluster(
    client: docker.DockerClient,
) -> None:
    if why := missing_node():
        pytest.skip(why)
    site_image(client, NAME, "grpc", "kubernetes")

    def run(*command: str, **variables: str) -> str:
        return client.containers.run(
            NAME, list(command), remove=True, network_mode="none", environment={"SECRET_KEY": "x" * 50, **variables}
        ).decode()

    assert run("id", "-u").strip() == "10001"
    assert "run_executor" in run("python", "manage.py", "run_executor", "--help")
    found = run("python", "-c", "import grpc, kubernetes, numpy; print(grpc.__version__, kubernetes.__version__)")
    assert len(found.split()) == 2
    # The referee's and the driver's modules start in it, and nothing of the site's start needs a network.
    run("python", "-c", "import arena_kit.referee.lot, arena_kit.cluster.lots.prepare")
    run("python", "manage.py", "check", DEBUG="true")
    assert "uPlot" in run("sh", "-c", "ls static/web node_modules/uplot/dist | cat")
