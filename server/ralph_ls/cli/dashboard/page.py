"""Page of the dashboard: one HTML file with its script, its style and its figures.

``page.js`` and ``page.css`` are generated from ``client-vscode/src/webview/dashboard``
(docs/adr/0075). The policy of the page names both by their digests and allows nothing else, so
that no request leaves it.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from ralph_ls.protocol.dashboard import Dashboard

_ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageParts:
    """What an HTML document needs to show the dashboard."""

    policy: str
    style: str
    body: str


@cache
def _asset(name: str) -> str:
    return (files("ralph_ls.cli.dashboard") / name).read_text(encoding="utf-8")


def dashboard_parts(
    figures: Dashboard | None, *, form: str, other_styles: tuple[str, ...] = ()
) -> PageParts:
    """The dashboard as parts of a document.

    ``form`` is ``file``, ``report`` or ``served``; the last one fetches its figures.
    ``other_styles`` are those of the document around it.
    """
    script, style = _asset("page.js"), _asset("page.css")
    styles = " ".join(_digest(text) for text in (style, *other_styles))
    sources = [
        "default-src 'none'",
        f"script-src {_digest(script)}",
        f"style-src {styles}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *(["connect-src 'self'"] if form == "served" else []),
    ]
    data = "" if figures is None else to_json(figures)
    return PageParts(
        policy="; ".join(sources),
        style=style,
        body=(
            f'<div class="dash" id="dashboard" data-form="{form}"></div>\n'
            f'<script type="application/json" id="figures">{_inert(data)}</script>\n'
            f"<script>{script}</script>"
        ),
    )


def dashboard_html(figures: Dashboard | None, *, form: str, title: str) -> str:
    """The dashboard as a document."""
    parts = dashboard_parts(figures, form=form)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(parts.policy)}">',
            f'<link rel="icon" href="{_ICON}">',
            f"<title>{escape(title)}</title>",
            f"<style>{parts.style}</style>",
            "</head>",
            '<body class="dash-page">',
            f"<main>\n{parts.body}\n</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def to_json(figures: Dashboard) -> str:
    """The document as the page reads it."""
    return figures.model_dump_json(by_alias=True, exclude_none=True)


def _inert(data: str) -> str:
    """JSON that cannot end the element which it is in."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _digest(text: str) -> str:
    found = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(found).decode()}'"
