"""The folder of a browser's container: the server that it runs, and what Chromium may open."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arena_kit.sandbox.startup import copy_server

SERVER = Path(__file__).with_name("inside") / "browser_server"
CHANNEL, SOCKET = "/channel", "browser.sock"
START = ("python3", "-s", "-P", "-u", f"{CHANNEL}/{SERVER.name}/start.py")
"""The command of the container, which the path of the socket follows."""
ENVIRONMENT = {"HOME": "/tmp", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}  # noqa: S108  # inside the container


def channel_fill(folder: Path, origins: Sequence[str]) -> None:
    """Write the server and Chromium's policies into the folder of a channel."""
    copy_server(SERVER, folder)
    path = folder / "policies" / "arena.json"
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.write_text(json.dumps(policies(origins)), encoding="utf-8")
    path.chmod(0o644)


def policies(origins: Sequence[str]) -> Mapping[str, Any]:
    """Return what Chromium may open: the addresses of the application, whatever page or redirect leads elsewhere."""
    places = [origin.replace("://", "://.", 1) for origin in origins]
    return {
        "URLBlocklist": ["*"],
        # The dot keeps names that only end so out; the others show what a page has made itself.
        "URLAllowlist": [*places, "about:*", "data:*", "blob:*"],
        "DownloadRestrictions": 3,
        "DefaultGeolocationSetting": 2,
        "DefaultNotificationsSetting": 2,
        "DefaultClipboardSetting": 2,
        "DefaultSensorsSetting": 2,
        "AudioCaptureAllowed": False,
        "VideoCaptureAllowed": False,
        "PasswordManagerEnabled": False,
        "PrintingEnabled": False,
        "BrowserSignin": 0,
        "SafeBrowsingProtectionLevel": 0,
        "DnsOverHttpsMode": "off",
    }
