"""Pages of each kind as the tests of their views make them."""

from __future__ import annotations

from hypothesis import strategies as st

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.views.document.page import Page, PageKind, read_page
from tests.unit.core.plan.plan_assertions import plan_texts

NAMES = {
    PageKind.PLAN: "IMPLEMENTATION_PLAN.md",
    PageKind.PROGRESS: "PROGRESS.md",
    PageKind.SPEC: "specs/login.md",
    PageKind.INDEX: "specs/README.md",
}


def page_of(text: str, kind: PageKind = PageKind.PLAN, *, name: str = "") -> Page:
    return read_page(kind, name or NAMES[kind], text, parse_markdown(text).plan)


_MATTER = (
    "---",
    "status: active",
    "dependencies: [a.md, US-001]",
    "supersedes:",
    "  - b.md",
    "tags: [",
    "Needs: US-001, us-002",
    "- [ ] US-001: First (after: US-002)",
    "[BLOCKED: US-001",
    "- [",
    "](specs/",
    "specs/a.md and [x](../a.md#L1)",
    "🚀 [日本](日本.md)",
    "\x00\x0b\u2028",
    "##",
    "## ##",
    "  # In",
)

page_texts = st.one_of(
    plan_texts,
    st.lists(st.sampled_from(_MATTER), max_size=10).map("\n".join),
    st.builds("{}\n{}".format, st.lists(st.sampled_from(_MATTER)).map("\n".join), plan_texts),
    st.text(max_size=80),
)
"""Texts of all kinds of pages, with what they go wrong by."""

pages = st.builds(page_of, page_texts, st.sampled_from(PageKind))
