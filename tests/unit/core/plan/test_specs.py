"""Specifications: what they say, what their index says, and what does not fit the plan."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.front_matter import FrontMatterProblem
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.specs import (
    INDEX,
    SpecStatus,
    check_specs,
    implemented_in_index,
    implemented_spec,
    is_spec,
    read_index,
    read_spec,
    spec_index_skeleton,
    unplanned_specs,
)

SPEC = """\
---
status: implemented
created: 2026-02-01
updated: 2026-02-04
tags: [authentication, security]
dependencies: [database.md, specs/mail.md]
supersedes: archive/old.md
---

# Feature: User Authentication
"""

READ_ME = """\
# Specification Index

## Active Specifications

### User Profiles (user-profiles.md)
- **Status:** Active
- **Priority:** Medium
- **Dependencies:** [auth.md](auth.md)
- **Last Updated:** 2026-02-03
- **Summary:** User profile
- **Summary:** A second one

### Something without a file

## Implemented Specifications

### [Database](specs/database.md)
- **Status**: Implemented
- **Completed:** 2026-02-01

## Archived Specifications

### Old (old.md)

## Another section

### None of ours (none.md)
- **Status:** Active
"""


def test_a_specification_says_what_it_is() -> None:
    spec = read_spec("auth.md", SPEC)
    assert spec.status is SpecStatus.IMPLEMENTED
    assert (spec.created, spec.updated) == (date(2026, 2, 1), date(2026, 2, 4))
    assert spec.tags == ("authentication", "security")
    assert spec.dependencies == ("database.md", "mail.md")
    assert spec.supersedes == ("archive/old.md",)
    assert spec.remarks == ()


def test_names_are_read_from_the_folder_of_the_specification() -> None:
    text = "---\ndependencies: [b.md, ../c.md, specs/web/d.md]\n---\n"
    assert read_spec("web/a.md", text).dependencies == ("web/b.md", "c.md", "web/d.md")


@pytest.mark.parametrize(
    ("said", "status", "codes"),
    [
        ("", SpecStatus.ACTIVE, []),
        ("status:", SpecStatus.ACTIVE, []),
        ("status: Active", SpecStatus.ACTIVE, []),
        ("status: obsolete", SpecStatus.OBSOLETE, []),
        ("status: superseded-by new.md", SpecStatus.SUPERSEDED_BY, []),
        ("status: superseded-by: new.md", SpecStatus.SUPERSEDED_BY, []),
        ("status: done", SpecStatus.ACTIVE, ["spec-status-unknown"]),
        ("created:", SpecStatus.ACTIVE, []),
        ("created: yesterday", SpecStatus.ACTIVE, ["spec-date-invalid"]),
        ("updated: 2026-02-30", SpecStatus.ACTIVE, ["spec-date-invalid"]),
    ],
)
def test_status_and_dates(said: str, status: SpecStatus, codes: list[str]) -> None:
    text = f"---\n{said}\n---\n"
    spec = read_spec("a.md", text)
    assert spec.status is status
    assert [remark.code for remark in spec.remarks] == codes
    assert all(text[remark.start : remark.end] == said for remark in spec.remarks)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("login.md", True),
        ("web/login.MD", True),
        ("web/README.md", True),
        ("README.md", False),
        ("archive/login.md", False),
        ("web/archive/login.md", True),
        ("login.txt", False),
    ],
)
def test_what_a_specification_is(name: str, expected: bool) -> None:
    assert is_spec(name) is expected


def test_the_index_is_read_with_its_fields() -> None:
    entries = read_index(READ_ME)
    assert [(one.title, one.name, one.part) for one in entries] == [
        ("User Profiles", "user-profiles.md", SpecStatus.ACTIVE),
        ("Something without a file", "", SpecStatus.ACTIVE),
        ("Database", "database.md", SpecStatus.IMPLEMENTED),
        ("Old", "old.md", SpecStatus.OBSOLETE),
    ]
    assert entries[0].fields == {
        "status": "Active",
        "priority": "Medium",
        "dependencies": "[auth.md](auth.md)",
        "last updated": "2026-02-03",
        "summary": "User profile",
    }
    assert entries[2].fields == {"status": "Implemented", "completed": "2026-02-01"}
    assert READ_ME[entries[3].start : entries[3].end] == "### Old (old.md)"
    assert READ_ME.splitlines()[entries[3].line] == "### Old (old.md)"


def test_an_index_may_be_a_list_of_links() -> None:
    entries = read_index(
        "# Specs\n- [Before](before.md)\n## Active\n- [Letters](letters.md)\n"
        "- **Status:** Active\n* [Post](./specs/post.md): sends\n### Own (own.md)\n"
        "- [Letters](letters.md)\n## Implemented\n+ [Old](old.md)\n"
    )
    assert [(one.title, one.name, one.part) for one in entries] == [
        ("Letters", "letters.md", SpecStatus.ACTIVE),
        ("Post", "post.md", SpecStatus.ACTIVE),
        ("Own", "own.md", SpecStatus.ACTIVE),
        ("Old", "old.md", SpecStatus.IMPLEMENTED),
    ]
    assert entries[0].fields == {"status": "Active"}


def test_the_index_to_begin_with_has_the_three_sections_and_no_entry() -> None:
    assert read_index(spec_index_skeleton()) == ()
    filled = spec_index_skeleton().replace("Archived S", "Archived S\n### Old (old.md)\n## S")
    assert [entry.part for entry in read_index(filled)] == [SpecStatus.OBSOLETE]


def check(
    plan: str = "", index: str | None = None, **specs: str
) -> dict[str, tuple[FrontMatterProblem, ...]]:
    read = [read_spec(f"{name}.md", f"---\n{text}\n---\n") for name, text in specs.items()]
    entries = None if index is None else read_index(index)
    return check_specs(read, entries, parse_markdown(plan).plan, plan)


def codes(found: dict[str, tuple[FrontMatterProblem, ...]]) -> dict[str, list[str]]:
    return {name: [remark.code for remark in remarks] for name, remarks in found.items()}


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param("- [ ] Form (specs/a.md)\n", id="in the title"),
        pytest.param("- [ ] Form\n  - Spec: a.md.\n", id="in a note"),
        pytest.param("- [ ] Form\n  - [x] part\n  - see `specs/a.md`\n", id="after a nested one"),
        pytest.param("## Login (a.md)\n\n- [ ] Form\n- [ ] Mail\n", id="in the heading"),
        pytest.param("## Tasks\n\n1. [BLOCKED] Form: ./a.md\n", id="blocked"),
    ],
)
def test_implemented_with_open_tasks_is_reported_at_its_status(plan: str) -> None:
    found = check(plan, a="status: implemented", b="status: implemented")
    assert codes(found) == {"a.md": ["spec-implemented-with-open-tasks"]}
    (remark,) = found["a.md"]
    assert "the plan has open tasks for it: Form" in remark.message
    assert remark.line == 1


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param("a.md\n\n- [ ] Form\n", id="in no task"),
        pytest.param("- [x] Form (a.md)\n- [-] Mail (a.md)\n", id="done or skipped"),
        pytest.param("- [ ] Form (aa.md, a.mdx, other/a.md)\n", id="another one"),
        pytest.param("- [ ] Form\n\nSee a.md.\n", id="after the task"),
        pytest.param("- [ ] x\n  - [x] Form (a.md)\n", id="of a nested one"),
    ],
)
def test_implemented_is_right_where_no_open_task_names_it(plan: str) -> None:
    assert check(plan, a="status: implemented") == {}


def test_many_open_tasks_are_not_all_named() -> None:
    plan = "".join(f"- [ ] Task {n} (a.md)\n" for n in range(5))
    ((remark,),) = check(plan, a="status: implemented").values()
    assert "Task 2 (a.md); …;" in remark.message
    assert "Task 3" not in remark.message


def test_an_active_one_may_have_open_tasks() -> None:
    assert check("- [ ] Form (a.md)\n", a="status: active") == {}


def test_names_of_none_and_of_itself_are_reported() -> None:
    found = check(
        a="dependencies: [b.md, gone.md]\nsupersedes: [archive/old.md, lost.md]",
        b="dependencies: b.md",
    )
    assert codes(found) == {
        "a.md": ["spec-dependency-unknown", "spec-dependency-unknown"],
        "b.md": ["spec-names-itself"],
    }
    assert [remark.line for remark in found["a.md"]] == [1, 2]
    assert "no specification gone.md" in found["a.md"][0].message


def test_what_a_specification_says_badly_is_among_it() -> None:
    assert codes(check(a="status: done")) == {"a.md": ["spec-status-unknown"]}


def test_the_index_must_say_what_the_specifications_say() -> None:
    index = (
        "## Active\n### A (a.md)\n### B (b.md)\n### Gone (gone.md)\n### No file\n"
        "## Archived\n### C (c.md)\n### D (d.md)\n### Old (old.md)\n"
    )
    found = check(
        "",
        index,
        a="status: active",
        b="status: implemented",
        c="status: active",
        d="status: superseded-by e.md",
        e="status: active",
    )
    assert codes(found) == {
        INDEX: [
            "spec-index-differs",
            "spec-index-missing-file",
            "spec-index-differs",
            "spec-not-in-index",
        ]
    }
    assert [remark.line for remark in found[INDEX]] == [2, 3, 6, 0]
    assert "listed here as archived" in found[INDEX][2].message
    assert check("", None, a="status: active") == {}


SCENARIOS = st.lists(
    st.sampled_from(
        """---
status: implemented
dependencies: [a.md]
# a.md
## Active
### (a.md)
- [ ] a.md
  - b.md
- **Status:** x
```
<!--
1. c
\ufeff""".splitlines()
    )
).map("\n".join)


@given(
    st.one_of(st.text(), SCENARIOS),
    st.one_of(st.text(), SCENARIOS),
    st.one_of(st.text(), SCENARIOS),
)
def test_nothing_fails_and_every_place_is_in_its_text(spec: str, index: str, plan: str) -> None:
    texts = {"a.md": spec, "b.md": index, INDEX: index}
    read = [read_spec(name, text) for name, text in texts.items() if name != INDEX]
    found = check_specs(read, read_index(index), parse_markdown(plan).plan, plan)
    for name, remarks in found.items():
        assert remarks
        assert all(0 <= one.start <= one.end <= len(texts[name]) for one in remarks)


class TestWithoutTasks:
    specs = (
        read_spec("login.md", "# Login"),
        read_spec("mail.md", "# Mail"),
        read_spec("deep/tax.md", "# Tax"),
        read_spec("done.md", SPEC),
    )

    def found(self, plan: str, *logs: str) -> tuple[str, ...]:
        return unplanned_specs(self.specs, parse_markdown(plan).plan, plan, *logs)

    def test_are_the_active_ones_that_no_task_names(self) -> None:
        plan = "# Plan\n\nSee specs/mail.md.\n\n- [x] Log in (specs/login.md)\n"
        assert self.found(plan) == ("mail.md", "deep/tax.md")

    def test_leave_out_what_a_log_of_finished_tasks_names(self) -> None:
        assert self.found("", "- [x] Tax (specs/deep/tax.md)\n", "- mail.md\n") == ("login.md",)


ACTIVE = "---\nstatus: active\ncreated: 2026-02-01\n---\n\n# A\n"
ONE_INDEX = (
    "# Index\n\n## Active Specifications\n\n### A (a.md)\n\n- **Status:** Active\n"
    "- **Priority:** High\n- **Summary:** All of it\n\n### B (b.md)\n\n"
    "## Implemented Specifications\n\n## Archived Specifications\n"
)
TODAY = date(2026, 2, 4)
DONE = "spec-active-with-all-tasks-done"


@pytest.mark.parametrize(
    ("plan", "log", "is_done"),
    [
        ("- [x] Write it (a.md)\n", "", True),
        ("- [x] Write it (a.md)\n- [ ] Post it (a.md)\n", "", False),
        ("- [ ] Another\n", "# Log\n\n## 2026-02-04\n- [x] Write it (specs/a.md)\n", True),
        ("- [ ] Post it (a.md)\n", "- [x] Write it (specs/a.md)\n", False),
        ("- [ ] Another\n", "a.md is next\n", False),
        ("- [ ] Another\n", "", False),
    ],
)
def test_an_active_specification_whose_tasks_are_all_done_is_reported(
    plan: str, log: str, *, is_done: bool
) -> None:
    specs = [read_spec("a.md", ACTIVE), read_spec("b.md", ACTIVE)]
    found = check_specs(specs, read_index(ONE_INDEX), parse_markdown(plan).plan, plan, log)
    codes = {name: [one.code for one in remarks] for name, remarks in found.items()}
    assert codes == ({"a.md": [DONE], INDEX: [DONE]} if is_done else {})
    if is_done:
        assert [one.line for one in (*found["a.md"], *found[INDEX])] == [1, 4]


def test_it_becomes_implemented_with_its_date() -> None:
    changed = implemented_spec(ACTIVE, today=TODAY)
    assert changed == ACTIVE.replace(
        "status: active\ncreated: 2026-02-01\n",
        "status: implemented\ncreated: 2026-02-01\nupdated: 2026-02-04\n",
    )
    assert implemented_spec(changed, today=TODAY) == changed
    windows = implemented_spec(ACTIVE.replace("\n", "\r\n"), today=TODAY)
    assert windows == changed.replace("\n", "\r\n")
    bare = implemented_spec("\ufeff# A\n", today=TODAY)
    assert bare == "\ufeff---\nstatus: implemented\nupdated: 2026-02-04\n---\n\n# A\n"


def test_its_entry_moves_below_the_implemented_ones() -> None:
    changed = implemented_in_index(ONE_INDEX, "a.md", today=TODAY)
    assert changed == (
        "# Index\n\n## Active Specifications\n\n### B (b.md)\n\n"
        "## Implemented Specifications\n\n### A (a.md)\n- **Status:** Implemented\n"
        "- **Completed:** 2026-02-04\n- **Summary:** All of it\n\n## Archived Specifications\n"
    )
    entries = {entry.name: entry for entry in read_index(changed)}
    assert entries["a.md"].part is SpecStatus.IMPLEMENTED
    assert implemented_in_index(changed, "a.md", today=TODAY) == changed
    assert implemented_in_index(ONE_INDEX.replace("\n", "\r\n"), "a.md", today=TODAY) == (
        changed.replace("\n", "\r\n")
    )


def test_an_index_without_that_section_gets_one_and_a_list_stays() -> None:
    changed = implemented_in_index("## Active\n\n### A (a.md)\n", "a.md", today=TODAY)
    (entry,) = read_index(changed)
    assert (entry.part, entry.fields["completed"]) == (SpecStatus.IMPLEMENTED, "2026-02-04")
    listed = "## Active\n\n- [A](a.md)\n"
    assert implemented_in_index(listed, "a.md", today=TODAY) == listed
    assert implemented_in_index(listed, "b.md", today=TODAY) == listed
