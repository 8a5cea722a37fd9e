"""The keys of language models, each with the host that it is for."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.core.exceptions import ImproperlyConfigured


@dataclass(frozen=True, slots=True)
class ModelKey:
    """A key of a language model. host: as in its address, with a port where that has one. key: empty for none."""

    host: str
    key: str = field(default="", repr=False)


def model_keys(text: str) -> dict[str, ModelKey]:
    """Return the keys by name from NAME@HOST=KEY with commas or line breaks. Raises ImproperlyConfigured."""
    keys: dict[str, ModelKey] = {}
    for part in filter(None, map(str.strip, text.replace("\n", ",").split(","))):
        left, equals, key = part.partition("=")
        name, _, host = left.partition("@")
        if not (name and host and equals):
            raise ImproperlyConfigured(
                f"MODEL_KEYS: write each key with the host that it is for, NAME@HOST=KEY (entry {len(keys) + 1})."
            )
        keys[name] = ModelKey(host.lower(), key)
    return keys
