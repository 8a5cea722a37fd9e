"""Rollouts: agents at work in applications."""

from typing import Any

from core.settings.base import env
from core.settings.model_keys import ModelKey, model_keys
from core.settings.variables import whole_number, words

# Who may ask for rollouts: no one (false), organisers, or everyone with an account. Organisers upload the packages.
ROLLOUTS = env.choice("ROLLOUTS", ("false", "staff", "members"))
_OPTIONS: dict[str, Any] = env.pairs(
    "ROLLOUT_OPTIONS",
    "parallelism=2,memory_bytes=8589934592,base_images=rl-arena-app,browser_image=rl-arena-browser,images=",
    str,
    apart={"parallelism": whole_number, "memory_bytes": whole_number, "images": words},
)
ROLLOUT_PARALLELISM: int = _OPTIONS["parallelism"]
# The memory of all worlds on one host, browsers and players included.
ROLLOUT_MEMORY_BYTES: int = _OPTIONS["memory_bytes"]
APP_BASE_IMAGES: str = _OPTIONS["base_images"]
BROWSER_IMAGE: str = _OPTIONS["browser_image"]
# Further images of the host's engine that packages may use.
APP_IMAGES: list[str] = _OPTIONS["images"]
# Keys of language models by the name that a model's row has; a secret, so a file may hold them.
MODEL_KEYS = model_keys(env.secret("MODEL_KEYS"))
# The variable of the older dashboard. With it, workers of rollouts make a row for its model, the first one to choose.
GEMINI_KEY_NAME = "GEMINI_API_KEY"
if _key := env.secret(GEMINI_KEY_NAME):
    MODEL_KEYS[GEMINI_KEY_NAME] = ModelKey("generativelanguage.googleapis.com", _key)
