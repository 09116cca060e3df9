"""Links to the rules resolve: each one names a heading of ``docs/rules.md``."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def anchors_of(markdown: str) -> list[str]:
    """The anchors of all headings, as GitHub makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", markdown, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", one.lower()).strip().replace(" ", "-") for one in headings]


def links_in_the_repository() -> list[tuple[str, str]]:
    """Each with its file and line, and the anchor."""
    listed = subprocess.run(
        ["git", "grep", "-I", "-o", "-n", "-E", r"rules\.md#[A-Za-z0-9_-]+"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [(line, line.rpartition("#")[2]) for line in listed.stdout.splitlines()]


def test_every_link_to_a_rule_names_a_heading() -> None:
    anchors = anchors_of((ROOT / "docs" / "rules.md").read_text(encoding="utf-8"))
    links = links_in_the_repository()
    assert len(links) > 100
    assert [line for line, anchor in links if anchor not in anchors] == []


def test_each_heading_of_the_rules_has_a_distinct_anchor() -> None:
    anchors = anchors_of((ROOT / "docs" / "rules.md").read_text(encoding="utf-8"))
    assert sorted(set(anchors)) == sorted(anchors)


CITATION = r"""(SPEC|UX|DESIGN|STYLE|HOUSE) ?§|\b[RSABI] ?§ ?[0-9]|["]{3}[RSABI][0-9]+[.:,]"""
"""Citations of documents that are not in this repository."""


def test_no_document_is_cited_that_is_not_here() -> None:
    listed = subprocess.run(
        [
            "git",
            "grep",
            "-I",
            "-n",
            "-E",
            CITATION,
            "--",
            ":!tests/unit/project/test_rule_links.py",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert listed.stdout == ""
