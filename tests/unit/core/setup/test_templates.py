"""Reading a template: front matter, description, items; bad ones are reported."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.setup.draft import read_template
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.lsp.setup import MAX_ITEMS, TemplateSource
from ralph_ls.protocol.task_words import Priority

WHOLE = """\
---
title: An Audit
detail: Look at every query
profile: spec
---

Audit the queries: …

# Plan

## High Priority (P0)

- [ ] List them
"""


def test_a_whole_one() -> None:
    read = read_template("audit", WHOLE, source=TemplateSource.OWN, path="/t/audit.md")
    template = read.template
    assert template is not None
    assert not read.problems
    assert template.model_dump(exclude={"items"}) == {
        "id": "own:audit",
        "title": "An Audit",
        "detail": "Look at every query",
        "source": TemplateSource.OWN,
        "description": "Audit the queries: …\n",
        "profile": ProfileName.SPEC,
        "path": "/t/audit.md",
    }
    assert [(item.title, item.priority) for item in template.items] == [("List them", Priority.P0)]


def test_the_same_with_other_line_endings_and_a_mark_of_the_byte_order() -> None:
    plain = read_template("a", WHOLE, source=TemplateSource.OWN)
    text = "\ufeff" + WHOLE.replace("\n", "\r\n")
    assert read_template("a", text, source=TemplateSource.OWN) == plain


def test_text_alone_is_a_template_named_after_its_file() -> None:
    read = read_template("my-own_audit", "Look at it", source=TemplateSource.BUILT_IN)
    assert read.template is not None
    assert (read.template.id, read.template.title) == ("my-own_audit", "My own audit")
    assert (read.template.description, read.template.items) == ("Look at it\n", ())


def test_items_alone_are_one_too() -> None:
    read = read_template("a", "# Plan\n- one\n", source=TemplateSource.OWN)
    assert read.template is not None
    assert read.template.description == ""
    assert [item.title for item in read.template.items] == ["one"]


@pytest.mark.parametrize("text", ["", "\n \n", "---\ntitle: x\n---\n", "---\ntitle: x\n---"])
def test_an_empty_one_cannot_be_used(text: str) -> None:
    read = read_template("a", text, source=TemplateSource.OWN)
    assert read.template is None
    assert read.problems[-1] == "it is empty; write the description that a task starts with"


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("profile: waterfall\n", "there is no profile 'waterfall'; use one of spec, "),
        ("title: {deep: [x]}\n", "line 2: "),
    ],
)
def test_what_front_matter_says_wrongly_is_reported_and_left_out(head: str, problem: str) -> None:
    read = read_template("a", f"---\n{head}---\nText\n", source=TemplateSource.OWN)
    assert read.template is not None
    assert (read.template.profile, read.template.description) == (None, "Text\n")
    assert [one for one in read.problems if one.startswith(problem)]


def test_too_many_items_are_cut_and_reported() -> None:
    listed = "".join(f"- [ ] item {number}\n" for number in range(MAX_ITEMS + 1))
    read = read_template("a", f"Text\n# Plan\n{listed}", source=TemplateSource.OWN)
    assert read.template is not None
    assert len(read.template.items) == MAX_ITEMS
    assert list(read.problems) == ["only the first 500 of its 501 items are taken"]


@given(st.text(alphabet=st.sampled_from("-:#Plan \n\rtile[]x"), max_size=150))
def test_any_text_is_read(text: str) -> None:
    read = read_template("a", text, source=TemplateSource.OWN)
    assert read.template is not None or read.problems
