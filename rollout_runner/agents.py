"""The agents of rollouts: scripts, the arena's own agent for models, and versions that users have uploaded."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from django.conf import settings

from arena_kit.cluster.manifest import PodPlayerSpec
from arena_kit.environment.spec import Limits
from arena_kit.errors import PlatformFault
from arena_kit.examples import FOLDER
from arena_kit.rollout.agents.agent import Agent, ScriptedAgent, null_script
from arena_kit.rollout.agents.meter import Meter
from arena_kit.rollout.agents.player import PlayerAgent
from arena_kit.rollout.gateway.endpoint import MISCONFIGURED, AskedModel, ChatForm, Endpoint, Form, Prices
from arena_kit.rollout.gateway.gateway import Gateway
from arena_kit.rollout.gateway.gemini import GeminiForm
from arena_kit.rollout.tasks.task import Task
from arena_kit.rollout.worlds.world import ROLLOUT_LABEL, World
from arena_kit.sandbox.base import FOLDER_PREFIX, Container, Launch
from core.jobs.images import player_registry
from core.models import LanguageModel, ModelUsers, Rollout, RolloutAgent, SubmissionForm
from core.models import ModelForm as RowForm
from core.notices.outgoing import CannotReach, model_address_problem, public_socket
from rollout_runner.host import folder, is_on_cluster, player_label, players, worker_token

GEMINI_MODEL = "gemini-2.5-computer-use-preview-10-2025"
"""The model of the older dashboard."""
MODEL_AGENT = "model_browser"
PLAYER_LOG = "player.log"
IN_IMAGE = "/app/example_players"
"""Where the arena's own image has its agents."""
FORMS: dict[str, Callable[[], Form]] = {RowForm.OPENAI: ChatForm, RowForm.GEMINI: GeminiForm}
_numbers = itertools.count(1)


class WorkerAgent(PlayerAgent):
    """A player with the gateway to its model, which ends with it; what it prints is kept."""

    gateway: Gateway | None = None
    log_file: Path | None = None

    def close(self) -> None:
        """See Agent."""
        super().close()
        if (gateway := self.gateway) is not None:
            self.gateway = None
            gateway.close()
        if self.log_file is not None and self.log:
            self.log_file.write_text(self.log, encoding="utf-8", errors="replace")


def agent_make(rollout: Rollout, task: Task, meter: Meter, output: Path) -> Agent:
    """Return the agent of a rollout. output: gets the logs of the player and of the gateway.

    Raises SandboxError, and PlatformFault for a model that cannot be used.
    """
    has_pictures = bool(rollout.batch.agent_config.get("vision"))
    match rollout.batch.agent_kind:
        case RolloutAgent.SCRIPTED:
            return ScriptedAgent(task.oracle, wants_pictures=has_pictures)
        case RolloutAgent.NULL:
            return null_script(wants_pictures=has_pictures)
    return _player(rollout, meter, output)


def image_of(rollout: Rollout) -> str:
    """Return the image of a rollout's player: of the version, or the folder of the arena's own agent."""
    if rollout.submission is not None:
        return rollout.submission.launched_image
    return f"{FOLDER_PREFIX}{FOLDER / MODEL_AGENT}"


def pod_player_of(rollout: Rollout, limits: Limits) -> PodPlayerSpec:
    """Return the player's container of a rollout whose world is a pod. Raises PlatformFault without an image."""
    has_model, submission = rollout.batch.model is not None, rollout.submission
    if submission is None:
        # The arena's own agent is in the arena's own image.
        return PodPlayerSpec(
            settings.KUBERNETES_IMAGE, limits, fresh=True, folder=f"{IN_IMAGE}/{MODEL_AGENT}", has_model=has_model
        )
    registry = player_registry()
    if registry is None or not submission.registry_digest:
        sentence = f"{submission} has no image in the registry. Build it again first."
        raise PlatformFault(sentence, code="image_missing")
    if submission.form == SubmissionForm.IMAGE:
        # The walls between the containers of a pod are built by the Python of the player's image.
        sentence = f"{submission} is a container image of its own, which plays only with SANDBOX=docker."
        raise PlatformFault(sentence, code="image_not_apart")
    return PodPlayerSpec(registry.reference(submission.registry_digest), limits, fresh=True, has_model=has_model)


def model_of(row: LanguageModel, temperature: float | None) -> AskedModel:
    """Return a language model with its key, which only workers have.

    Raises PlatformFault without it, for a host that is not the key's, and for an address that is not safe to ask.
    """
    key = ""
    if row.key_name:
        named = settings.MODEL_KEYS.get(row.key_name)
        if named is None:
            raise PlatformFault(f"MODEL_KEYS of this worker has no {row.key_name}.", code=MISCONFIGURED)
        if _host_of(row.url) != named.host:
            sentence = f"The key {row.key_name} is for the host {named.host}, and the address of {row} has another."
            raise PlatformFault(sentence, code=MISCONFIGURED)
        key = named.key
    if problem := model_address_problem(row.url, has_key=bool(key), is_named=bool(row.key_name)):
        raise PlatformFault(f"The address of {row} cannot be used: {problem}", code=MISCONFIGURED)
    if not isinstance(row.sampling, dict):
        raise PlatformFault(f"The fixed parameters of {row} are not an object.", code=MISCONFIGURED)
    prices = Prices(row.price_in_micros, row.price_cached_micros, row.price_out_micros)
    chosen = {} if temperature is None else {"temperature": temperature}
    return AskedModel(row.model_id, row.url, key, prices, {**chosen, **row.sampling})


def default_model_ensure() -> None:
    """Make the row of the older dashboard's model where it is missing; for organisers, but in a demo for all."""
    host = settings.MODEL_KEYS[settings.GEMINI_KEY_NAME].host
    LanguageModel.objects.get_or_create(
        name=GEMINI_MODEL,
        defaults={
            "model_id": GEMINI_MODEL,
            "url": f"https://{host}/v1beta",
            "form": RowForm.GEMINI,
            "key_name": settings.GEMINI_KEY_NAME,
            "users": ModelUsers.MEMBERS if settings.DEBUG else ModelUsers.STAFF,
        },
    )


def _host_of(url: str) -> str:
    """Return the host of an address with its port; empty for what is no address."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def public_socket_or_fault(host: str, port: int, timeout: float) -> socket.socket:
    """Connect to a host on the public internet. Raises PlatformFault, OSError."""
    try:
        return public_socket(host, port, timeout, allows_private=False)
    except CannotReach as error:
        raise PlatformFault(f"{error} MODEL_KEYS can name its host.", code=MISCONFIGURED) from None


def _player(rollout: Rollout, meter: Meter, output: Path) -> WorkerAgent:
    config, row = rollout.batch.agent_config, rollout.batch.model
    gateway = None
    if row is not None:
        # A host that the operator has named may be on a private network.
        connect = None if row.key_name else public_socket_or_fault
        endpoint = Endpoint(model_of(row, config.get("temperature")), FORMS[row.form](), connect=connect)
        gateway = Gateway(endpoint, meter, folder("models"), output)
    limits = rollout.environment.limits
    pod_player = pod_player_of(rollout, limits) if is_on_cluster() else None

    def launch(world: World | None) -> Container:
        if pod_player is not None:
            assert world is not None, "The player is one of the containers of its world."
            return world.launch(
                Launch("", f"rollout-{rollout.pk}", limits, {}, model_folder=str(gateway.folder) if gateway else "")
            )
        token, sandbox = worker_token(), players()
        return sandbox.launch(
            Launch(
                image_of(rollout),
                f"arena-rollout-{rollout.public_id}-{token[:12]}-{next(_numbers)}",
                limits=limits,
                labels={player_label(): token, ROLLOUT_LABEL: str(rollout.public_id)},
                model_folder=str(gateway.folder) if gateway else "",
            )
        )

    agent = WorkerAgent(
        launch,
        meter,
        environment=rollout.environment.slug,
        wants_pictures=bool(config.get("vision")),
        prompt=str(config.get("prompt") or ""),
        memory_bytes=limits.memory_limit_bytes,
        pod_player=pod_player,
    )
    agent.gateway, agent.log_file = gateway, output / PLAYER_LOG
    return agent
