"""Generated list of docs/adr/index.md: every decision by its number and title."""

from __future__ import annotations

from pathlib import Path


def decision_parts(root: Path) -> dict[str, str]:
    """A line for each decision."""
    pages = sorted((root / "docs" / "adr").glob("[0-9]*.md"))
    return {"decisions": "\n".join(f"- [{_title(page)}]({page.name})" for page in pages)}


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("# ").strip()
