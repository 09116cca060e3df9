"""Addresses of the project in the package's metadata, all from one variable of the build.

``RALPH_REPOSITORY_URL`` names the repository, such as ``https://host/owner/name``. It is the only
place where an address comes from; without it the build is local and names ``https://example.invalid/``.
A source archive carries what it was built with, so a wheel made from one needs no variable.

    .venv/bin/python .ci/metadata_hook.py

prints what the extension's manifest says of it, as JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "RALPH_REPOSITORY_URL"
NOWHERE = "https://example.invalid/"
"""What a local build names: an address that no one can ever own."""

ADDRESS = re.compile(r"https://[\w.-]+(?:/[\w.~-]+)+")
RELATIVE_LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\((?!https?:|#|mailto:)([^)\s]+)\)"
)


class AddressesHook(MetadataHookInterface):
    """Fills in ``urls`` and ``readme``, for hatchling."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses; the links of the README lead to the repository of that version."""
        address = repository_url(os.environ.get(VARIABLE, ""))
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        version = metadata["version"]
        metadata["urls"] = project_urls(address, version)
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(readme, address, version),
        }


def repository_url(given: str) -> str:
    """The address of the repository, or the one that leads nowhere if none is given.

    Raises ValueError where it is none.
    """
    address = given.removesuffix("/").removesuffix(".git")
    if address and not ADDRESS.fullmatch(address):
        raise ValueError(
            f"{VARIABLE}={given} is not the address of a repository: write it like"
            " https://host/owner/name"
        )
    return address or NOWHERE


def project_urls(address: str, version: str) -> dict[str, str]:
    """``[project.urls]``, with the labels that package indexes know."""
    if address == NOWHERE:
        return dict.fromkeys(("Homepage", "Source"), NOWHERE)
    return {
        "Homepage": address,
        "Documentation": f"{address}/tree/v{version}/docs",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/v{version}/CHANGELOG.md",
    }


def manifest_fields(address: str) -> dict[str, object]:
    """The addresses in the manifest of the VS Code extension."""
    issues = address if address == NOWHERE else f"{address}/issues"
    repository = {"type": "git", "url": address, "directory": "client-vscode"}
    return {"repository": repository, "bugs": {"url": issues}, "homepage": address}


def with_absolute_links(text: str, address: str, version: str) -> str:
    """The README with its relative links and pictures leading to the repository."""
    if address == NOWHERE:
        return text

    def absolute(link: re.Match[str]) -> str:
        picture, label, target = link.groups()
        kind = "raw" if picture else "blob"
        inside = RELATIVE_LINK.sub(absolute, label)
        return f"{picture}[{inside}]({address}/{kind}/v{version}/{target})"

    return RELATIVE_LINK.sub(absolute, text)


if __name__ == "__main__":
    try:
        print(json.dumps(manifest_fields(repository_url(os.environ.get(VARIABLE, "")))))
    except ValueError as error:
        sys.exit(str(error))
