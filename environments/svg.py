"""The few things all pictures share: an SVG that follows the page's light or dark scheme by itself."""

from __future__ import annotations

from html import escape

STYLE = """
.board{fill:#e8ecf4}.cell{fill:#fff}.first{fill:#2f6fed}.second{fill:#e4572e}.stroke-first{stroke:#2f6fed}
.stroke-second{stroke:#e4572e}.ink{fill:#1f2937}.muted{fill:#6b7280}.line{stroke:#c3cad9}.mark{stroke:#f2b705}
.glow{fill:#fff3c4}text{font-family:system-ui,sans-serif}
@media(prefers-color-scheme:dark){.board{fill:#232a3a}.cell{fill:#151a26}.first{fill:#6ea0ff}.second{fill:#ff8a66}
.stroke-first{stroke:#6ea0ff}.stroke-second{stroke:#ff8a66}.ink{fill:#e5e9f2}.muted{fill:#98a2b8}.line{stroke:#3a445c}
.glow{fill:#4a3f12}}
"""


def svg(width: int, height: int, title: str, parts: list[str]) -> str:
    """A stand-alone picture of `width` x `height` units, with a title for screen readers."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>{''.join(parts)}</svg>"
    )
