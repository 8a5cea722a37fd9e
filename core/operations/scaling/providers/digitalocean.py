"""Droplets of DigitalOcean, by version 2 of its API. They are told apart from others by a tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from core.errors import Refused
from core.operations.scaling.providers import ProviderFailed, needed

ADDRESS = "https://api.digitalocean.com/v2"
SECONDS = 30.0
PAGE, MOST_PAGES = 200, 20


@dataclass(slots=True)
class DigitalOceanProvider:
    """settings: what a new droplet has besides its name. tag: of this arena's droplets alone."""

    token: str
    tag: str
    settings: Mapping[str, object]
    address: str = ADDRESS
    # Each hour begun is paid, and the next one begins with the sixtieth minute.
    youngest_minutes: ClassVar[float] = 50
    oldest_minutes: ClassVar[float] = 0
    names_hosts: ClassVar[bool] = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        needed(options, "region", "size", "image", "tag", "user_data", "token")
        try:
            user_data = Path(options["user_data"]).read_text()
        except OSError as error:
            raise Refused(f"The file of user_data cannot be read: {error.strerror}.", code="incomplete") from None
        keys = [int(key) if key.isdecimal() else key for key in options["ssh_keys"]]
        about = {name: options[name] for name in ("region", "size", "image")}
        # Without a network of its own, a droplet is in the default one of its region.
        inside = {"vpc_uuid": options["vpc_uuid"]} if options["vpc_uuid"] else {}
        fixed = {**about, **inside, "ssh_keys": keys, "user_data": user_data, "monitoring": True}
        return cls(options["token"], options["tag"], fixed)

    def hosts(self) -> list[str]:
        return sorted({name for _, name in self._droplets()})

    def nameless(self) -> int:
        return 0

    def create(self, name: str) -> None:
        self._ask("POST", "/droplets", {**self.settings, "name": name, "tags": [self.tag]})

    def destroy(self, name: str) -> None:
        for number, found in self._droplets():
            if found == name:
                self._ask("DELETE", f"/droplets/{number}")

    def close(self) -> None:
        pass

    def _droplets(self) -> list[tuple[int, str]]:
        found: list[tuple[int, str]] = []
        for page in range(1, MOST_PAGES + 1):
            answer = self._ask("GET", f"/droplets?tag_name={self.tag}&per_page={PAGE}&page={page}")
            try:
                found += [(int(row["id"]), str(row["name"])) for row in answer["droplets"]]
                is_last = not (answer.get("links", {}).get("pages") or {}).get("next")
            except (KeyError, TypeError, ValueError, AttributeError):
                raise ProviderFailed("DigitalOcean's list of droplets cannot be understood.") from None
            if is_last:
                return found
        raise ProviderFailed(f"DigitalOcean has more than {PAGE * MOST_PAGES} droplets with the tag {self.tag}.")

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        # Imported here: most processes never ask.
        import requests

        try:
            answer = requests.request(
                method,
                self.address + path,
                json=body,
                headers={"Authorization": f"Bearer {self.token}"},
                timeout=SECONDS,
                allow_redirects=False,
            )
            if method == "DELETE" and answer.status_code == 404:
                return None
            said = answer.json() if answer.content else None
        except (requests.RequestException, ValueError) as error:
            raise ProviderFailed(f"DigitalOcean does not answer: {type(error).__name__}.") from None
        if not answer.ok:
            message = said.get("message", "") if isinstance(said, dict) else ""
            raise ProviderFailed(f"DigitalOcean refuses {method} with {answer.status_code}: {str(message)[:200]}")
        return said
