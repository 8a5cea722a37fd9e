"""Names for browsers and programs that their owners recognise."""

from __future__ import annotations

BROWSERS = {
    "Edg": "Edge",
    "OPR": "Opera",
    "SamsungBrowser": "Samsung Internet",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "CriOS": "Chrome",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
"""Words of user agents, the more special ones first: Edge calls itself Chrome and Safari too."""
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "CrOS": "ChromeOS",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}


def device_named(user_agent: str) -> str:
    """Return the browser and the system, such as `Firefox on Linux`; for a program, its first word."""
    browser = next((name for word, name in BROWSERS.items() if f"{word}/" in user_agent), "")
    system = next((name for word, name in SYSTEMS.items() if word in user_agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or user_agent.partition(" ")[0][:40] or "unknown"
