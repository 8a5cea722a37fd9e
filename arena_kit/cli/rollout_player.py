"""A player, or the arena's own agent for models, as the agent of `arena rollout`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from arena_kit.cli.common import LABEL, BadArgument
from arena_kit.cli.install import install
from arena_kit.cli.needed import requirements_of
from arena_kit.cli.players import player_image
from arena_kit.environment.spec import Limits
from arena_kit.examples import FOLDER
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.agents.player import PlayerAgent
from arena_kit.rollout.gateway.endpoint import AskedModel, ChatForm, Endpoint, Form, Prices
from arena_kit.rollout.gateway.gateway import Gateway
from arena_kit.rollout.gateway.gemini import GeminiForm
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.world import World
from arena_kit.sandbox.base import FOLDER_PREFIX, Container, Launch
from arena_kit.sandbox.docker import DockerSandbox

MODEL_AGENT = "model_browser"
FORMS: Mapping[str, Callable[[], Form]] = {"openai": ChatForm, "gemini": GeminiForm}
LIMITS = Limits(memory_limit_bytes=1 << 30, start_seconds=60.0, move_seconds=60.0)


class HomeAgent(PlayerAgent):
    """A player with the gateway to its model, which ends with it."""

    gateway: Gateway | None = None

    def close(self) -> None:
        """See Agent."""
        super().close()
        if (gateway := self.gateway) is not None:
            self.gateway = None
            gateway.close()


def player_agent(
    options: argparse.Namespace, folder: Path, task: Task, meter: Meter, output: Path, number: int
) -> HomeAgent:
    """Return the agent that the options name. output: gets the log of the gateway. Raises BadArgument."""
    if options.agent == "model":
        image = f"{FOLDER_PREFIX}{FOLDER / MODEL_AGENT}"
    else:
        image = player_image(options.agent, options, folder / f"player-{number}")
    packages = install(options.agent, requirements_of(options.agent, image), options)
    gateway = None
    if options.model_url:
        endpoint = Endpoint(_model(options), FORMS[options.model_form]())
        gateway = Gateway(endpoint, meter, folder / "models", output)
    sandbox = DockerSandbox(base_image=options.base_image, channel_dir=folder / "players")

    def launch(_: World | None) -> Container:
        name, labels = f"arena-rollout-{os.getpid()}-{number}", {LABEL: str(os.getpid())}
        model_folder = str(gateway.folder) if gateway else ""
        return sandbox.launch(
            Launch(image, name, limits=LIMITS, labels=labels, packages=packages, model_folder=model_folder)
        )

    agent = HomeAgent(
        launch,
        meter,
        environment=task.environment,
        wants_pictures=options.vision,
        prompt=options.prompt,
        memory_bytes=LIMITS.memory_limit_bytes,
    )
    agent.gateway = gateway
    return agent


def _model(options: argparse.Namespace) -> AskedModel:
    key = ""
    if options.model_key:
        try:
            key = Path(options.model_key).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise BadArgument(f"{options.model_key} cannot be read: {error.strerror}.") from None
    if not options.model_url.startswith(("http://", "https://")):
        raise BadArgument("--model-url must be an address such as https://example.org/v1.")
    price_in, price_out = (round(price * 1_000_000) for price in options.price)
    prices = Prices(tokens_in=price_in, tokens_cached=price_in, tokens_out=price_out)
    fixed = {} if options.temperature is None else {"temperature": options.temperature}
    return AskedModel(options.model or "model", options.model_url, key, prices, fixed)
