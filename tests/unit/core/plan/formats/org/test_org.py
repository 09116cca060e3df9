"""Org: headings with a keyword and boxes are tasks; an edit changes a keyword or a box."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.org.operations import (
    check_text,
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    why_foreign,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.lint.quick_fixes import quick_fix_edit
from ralph_ls.core.plan.lint.remarks import CheckCode
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

SHOP = Path("tests/data/plan_formats/org/plan.org").read_bytes().decode()
PLAN = parse_text(SHOP).plan
BASKET, PAY, MAIL, BOOK = PLAN.tasks


def titles(text: str) -> dict[str, str]:
    return {task.title: task.state.value for task in parse_text(text).plan.tasks}


def only_id(text: str) -> str:
    return parse_text(text).plan.tasks[0].id


def test_keywords_that_a_file_need_not_declare() -> None:
    lines = ("* COMPLETE Cut", "* TO-DO Bend", "* MAYBE Paint", "* DONT-DO Sell", "* SOLD out")
    assert titles("\n".join(lines)) == {
        "Cut": "done", "Bend": "todo", "Paint": "skipped", "Sell": "skipped"
    }  # fmt: skip


def test_words_for_states_in_capitals_are_keywords_where_several_headings_have_one() -> None:
    text = "* ERLEDIGT Schneiden\n* GEPLANT Biegen\n* IN ARBEIT Malen\n"
    assert titles(text) == {"Schneiden": "done", "Biegen": "todo"}
    assert with_state(text, parse_text(text).plan.tasks[1].id, TaskState.DONE) == text.replace(
        "GEPLANT", "ERLEDIGT"
    )
    assert titles("* ERLEDIGT Schneiden\n* Biegen\n") == {}


def test_reads_headings_and_boxes() -> None:
    assert titles(SHOP) == {
        "Basket with a total": "done", "Pay by card": "todo", "領収書 by mail": "todo",
        "Address book": "done",
    }  # fmt: skip
    assert (BASKET.id, BASKET.section, BASKET.priority) == ("basket", "Checkout", "P0")
    assert PAY.criteria == ("An order is paid once", "=make test= passes")
    assert PAY.mark is not None
    assert SHOP[slice(*PAY.mark)] == "TODO"
    assert PAY.words is not None
    line, start, end = PAY.words
    assert SHOP.split("\n")[line][start:end] == PAY.title
    assert needs_of(SHOP) == {PAY.id: ("basket",)}
    assert why_broken(SHOP) == ""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("* TODO a\n* DONE b\n* WAITING c\n* CANCELLED d\n* STARTED e\n* NEXT f",
                     {"a": "todo", "b": "done", "c": "blocked", "d": "skipped",
                      "e": "inProgress", "f": "todo"}, id="usual-keywords"),
        pytest.param("#+TODO: OPEN(o) PROOF | SHIPPED(s!) KILL(k@)\n* OPEN a\n* PROOF b\n"
                     "* SHIPPED c\n* KILL d",
                     {"a": "todo", "b": "todo", "c": "done", "d": "skipped"}, id="own-keywords"),
        pytest.param("#+SEQ_TODO: A B C\n* A a\n* C c", {"a": "todo", "c": "done"}, id="no-bar"),
        pytest.param("#+TODO: DONE | TODO\n* DONE a\n* TODO b", {"a": "todo", "b": "done"},
                     id="odd-words"),
        pytest.param("#+TODO:\n\ufeff* TODO a [1/2] :x:y:\n** TODOS b\n*TODO c\n* Todo d\n* TODO",
                     {"a": "todo", "Untitled": "todo"}, id="no-keyword"),
        pytest.param("#+begin_src org\n* TODO a\n- [ ] b\n#+END_SRC\n- [-] c",
                     {"c": "inProgress"}, id="block"),
        pytest.param("* TODO a :ARCHIVE:\n** TODO b\n* COMMENT x\n** TODO c\n- [ ] d\n* TODO e",
                     {"e": "todo"}, id="archived"),
        pytest.param("* x\n+ [ ] a\n1. [x] b\n 2) [X] c\n * [ ] d\n* [ ] e\n- [ ]\n- [y] f",
                     {"a": "todo", "b": "done", "c": "done", "d": "todo", "e": "todo"},
                     id="lists"),
        pytest.param("* TODO a\n  Blocked by: no key\n\n** DONE b", {"a": "blocked", "b": "done"},
                     id="reason"),
        pytest.param("* TODO a\nBlocked by: no key\nIt came.", {"a": "todo"}, id="old-reason"),
    ],
)  # fmt: skip
def test_reads_the_shapes_of_an_outline(text: str, read: dict[str, str]) -> None:
    assert titles(text) == read


def test_a_task_waits_for_those_below_it() -> None:
    text = "* TODO a\n:PROPERTIES:\n:CUSTOM_ID: a\n:BLOCKER: ids(x y)\n:END:\n** x\n*** TODO b\n"
    a, b = parse_text(text).plan.tasks
    assert (b.parent, b.depth, b.section, a.end_line) == ("a", 1, "x", 6)
    assert needs_of(text) == {"a": ("x", "y", b.id)}


def test_equal_headings_have_different_ids() -> None:
    first, second = parse_text("* TODO a\n* TODO a").plan.tasks
    assert second.id == f"{first.id}-2"


class TestState:
    """The keyword or the box is written."""

    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    @pytest.mark.parametrize("mark", ["", "\ufeff"])
    def test_a_keyword_changes_one_line(self, ending: str, mark: str) -> None:
        text = mark + SHOP.rstrip("\n").replace("\n", ending)
        after = with_state(text, PAY.id, TaskState.DONE)
        line = f"** TODO [#A] Pay by card{ending}"
        assert changed_lines(text, after) == [(line, line.replace("TODO", "DONE"))]
        assert with_state(after, PAY.id, TaskState.TODO) == text

    @pytest.mark.parametrize(
        ("state", "box"), [(TaskState.DONE, "[X]"), (TaskState.IN_PROGRESS, "[-]")]
    )
    def test_a_box_changes_one_line(self, state: TaskState, box: str) -> None:
        after = with_state(SHOP, MAIL.id, state)
        line = "- [ ] 領収書 by mail\n"
        assert changed_lines(SHOP, after) == [(line, line.replace("[ ]", box))]

    @pytest.mark.parametrize("task_id", [BASKET.id, PAY.id])
    @pytest.mark.parametrize("state", TaskState)
    def test_an_edit_gives_one_task_its_state(self, task_id: str, state: TaskState) -> None:
        check_state_edit(parse_text, with_state, SHOP, task_id, state)

    def test_a_reason_is_the_last_line_of_its_task(self) -> None:
        blocked = with_state(SHOP, PAY.id, TaskState.BLOCKED, "no licence")
        task = parse_text(blocked).plan.by_id()[PAY.id]
        assert (task.state, task.blocked_by) == (TaskState.BLOCKED, "no licence")
        assert "** WAITING [#A]" in blocked
        assert "passes\nBlocked by: no licence\n* Mail" in blocked
        assert "Blocked by: x\n" in with_state(blocked, PAY.id, TaskState.BLOCKED, "x")
        assert with_state(blocked, PAY.id, TaskState.TODO) == SHOP

    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    def test_without_a_keyword_the_reason_alone_blocks(self, ending: str) -> None:
        text = f"* TODO a{ending}* DONE b"
        blocked = with_state(text, only_id(text), TaskState.BLOCKED)
        assert blocked == f"* TODO a{ending}Blocked by: ?{ending}* DONE b"
        assert with_state(blocked, only_id(text), TaskState.TODO) == text
        done = parse_text(text).plan.tasks[1].id
        assert with_state(text, done, TaskState.BLOCKED, "x").endswith(
            f"* TODO b{ending}Blocked by: x"
        )

    def test_without_a_keyword_a_begun_task_is_open(self) -> None:
        text = "* DONE a"
        assert with_state(text, only_id(text), TaskState.IN_PROGRESS) == "* TODO a"

    @pytest.mark.parametrize(
        ("text", "state"),
        [("* TODO a", TaskState.SKIPPED), ("- [ ] a", TaskState.BLOCKED)],
    )
    def test_refuses_what_it_has_no_keyword_for(self, text: str, state: TaskState) -> None:
        with pytest.raises(RalphError, match="declare one in it, such as"):
            with_state(text, only_id(text), state)

    def test_refuses_an_unknown_task(self) -> None:
        with pytest.raises(RalphError, match="see the ids in: ralph plan"):
            with_state(SHOP, "x", TaskState.DONE)


def test_a_note_is_a_line_below_a_heading() -> None:
    noted = with_note(SHOP, PAY.id, "n")
    assert noted == SHOP.replace("passes\n", "passes\nn\n")
    assert with_note(noted, PAY.id, "n") == noted
    assert with_note(SHOP, MAIL.id, "n") == SHOP


def test_protects_what_a_task_demands() -> None:
    before = protected_fields(SHOP)[PAY.id]
    for old, new, kind in [
        ("paid once", "paid", Forbidden.CRITERIA),
        ("TODO [#A]", "TODO [#B]", Forbidden.PRIORITY),
        (":BLOCKER: basket", ":BLOCKER: x", Forbidden.DEPENDENCY),
    ]:
        after = protected_fields(SHOP.replace(old, new))[PAY.id]
        assert {one for one in before if before[one] != after[one]} == {kind}
    assert protected_fields(SHOP.replace("[ ] An", "[X] An"))[PAY.id] == before


@pytest.mark.parametrize("task", [BASKET, PAY, MAIL, BOOK], ids=lambda task: str(task.id))
def test_a_removed_task_comes_back_where_it_was(task: object) -> None:
    task_id = getattr(task, "id", "")
    without = with_task_of(SHOP, "", task_id)
    assert task_id not in states(parse_text(without).plan)
    back = with_task_of(without, SHOP, task_id)
    assert titles(back) == titles(SHOP)


def test_what_is_below_a_task_stays_when_it_is_restored() -> None:
    text = "* TODO a\nbody\n** TODO b\n"
    changed = "* TODO a\nother\n** DONE b\n"
    assert with_task_of(changed, text, only_id(text)) == "* TODO a\nbody\n** DONE b\n"


@given(
    st.lists(
        st.sampled_from(
            ["* ", "** ", "TODO ", "DONE ", "#+TODO: ", "| ", "- [ ] ", "[#A] ", "a", "\n", "\r\n",
             ":ID: ", "#+BEGIN_X\n", "#+END_X\n", "Blocked by: ", ":x:", "COMMENT "]
        )
    ).map("".join)
)  # fmt: skip
def test_reading_never_raises(text: str) -> None:
    needs_of(text)
    protected_fields(text)
    for task in parse_text(text).plan.tasks:
        assert with_state(text, task.id, task.state) == text
        with_task_of(text, "", task.id)


CLOSING = "* DONE a\nCLOSED: [2026-01-02 Fri]\n"


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        (f"{CLOSING}* TODO b\n", f"{CLOSING}* DONE b\nCLOSED: [2026-01-31 Sat]\n"),
        (f"{CLOSING}* TODO b", f"{CLOSING}* DONE b\nCLOSED: [2026-01-31 Sat]"),
        (
            f"{CLOSING}** TODO b\n   DEADLINE: <2026-03-01>\n   Body\n",
            f"{CLOSING}** DONE b\n   CLOSED: [2026-01-31 Sat] DEADLINE: <2026-03-01>\n   Body\n",
        ),
        (
            "#+STARTUP: fold logdone\r\n* TODO b\r\nBody\r\n",
            "#+STARTUP: fold logdone\r\n* DONE b\r\nCLOSED: [2026-01-31 Sat]\r\nBody\r\n",
        ),
        ("* TODO b\nBody\n", "* DONE b\nBody\n"),
    ],
)
def test_a_closed_heading_is_dated_where_the_file_has_such_dates(text: str, closed: str) -> None:
    task = parse_text(text).plan.tasks[-1]
    done = with_state(text, task.id, TaskState.DONE, "", "2026-01-31")
    assert done == closed
    assert with_state(done, task.id, TaskState.TODO).rstrip("\n") == text.rstrip("\n")


def test_a_cancelled_heading_is_closed_as_well() -> None:
    text = f"#+TODO: TODO | DONE CANCELLED\n{CLOSING}"
    task_id = only_id(text)
    assert with_state(text, task_id, TaskState.SKIPPED) == text.replace("* DONE", "* CANCELLED")
    assert with_state(text, task_id, TaskState.TODO) == "#+TODO: TODO | DONE CANCELLED\n* TODO a\n"
    assert with_state(text.replace("DONE a", "TODO a"), task_id, TaskState.DONE) == (
        "#+TODO: TODO | DONE CANCELLED\n* DONE a\n"
    ), "a day that is not known is not written"


def test_headings_without_a_keyword_beside_tasks_are_reported() -> None:
    text = (
        "* Kettle\n** DONE Spout\n** Lid\n*** with a knob\n** Handle\n* Notes\n** Buy tea\n"
        "* Paint\n- [X] blue\n* Archive :ARCHIVE:\n** Old\n* <2026-01-31 Sat>\n* Done\n** Cup\n"
    )
    (remark,) = check_text(text)
    assert remark.message == (
        "2 headings have no keyword and are not read (with a knob, Handle); add one to each that "
        "is a task, as in: * TODO …"
    )
    edit = quick_fix_edit(remark, text)
    assert edit is not None
    assert edit.title == "Add TODO to each of them"
    assert check_text(edit.apply(text)) == ()
    assert titles(edit.apply(text)) == {
        "Spout": "done", "with a knob": "todo", "Handle": "todo", "blue": "done"
    }  # fmt: skip


def test_beside_open_tasks_only_their_neighbours_are_reported() -> None:
    text = "#+TODO: OPEN | SHIPPED\n* Kettle\n** OPEN Spout\n** Lid\n* Ideas\n** Whistle\n"
    (remark,) = check_text(text)
    assert remark.message == (
        "1 heading has no keyword and is not read (Lid); add one to each that is a task, as in: "
        "* OPEN …"
    )
    edit = quick_fix_edit(remark, text)
    assert edit is not None
    assert edit.apply(text) == text.replace("** Lid", "** OPEN Lid")
    assert edit.title == "Add OPEN to it"


def test_lists_without_boxes_are_reported_where_nothing_is_a_task() -> None:
    text = "- Spout\n  1. solder it\n* Notes\n- Buy tea\n#+begin_example\n- x\n#+end_example\n"
    (remark,) = check_text(text)
    assert remark.code is CheckCode.LINES_NOT_READ
    assert remark.message == (
        "2 lines without a box are not read; write each that is a task as: - [ ] …"
    )
    edit = quick_fix_edit(remark, text)
    assert edit is not None
    assert titles(edit.apply(text)) == {"Spout": "todo", "solder it": "todo"}
    assert check_text(edit.apply(text)) == ()


def test_lists_in_comments_are_reported_without_an_edit() -> None:
    text = ";;;; - Spout\n"
    (remark,) = check_text(text)
    assert remark.message.startswith("1 line without a box is not read")
    assert quick_fix_edit(remark, text) is None


def test_a_box_that_only_counts_is_no_task() -> None:
    assert titles("* Kettle\n- [ ] [0/2]\n  - [ ] Spout\n  - [X] Lid\n") == {
        "Spout": "todo", "Lid": "done"
    }  # fmt: skip


def test_a_heading_with_a_box_is_a_task() -> None:
    text = "* Workshop\n** [ ] Saw\nsharp\n** [X] File\n*** [ ] Glue\n** [2026-01-02] log\n"
    assert titles(text) == {"Saw": "todo", "File": "done", "Glue": "todo"}
    saw = parse_text(text).plan.tasks[0]
    after = with_state(text, saw.id, TaskState.DONE)
    assert changed_lines(text, after) == [("** [ ] Saw\n", "** [X] Saw\n")]
    for state in (TaskState.TODO, TaskState.IN_PROGRESS, TaskState.DONE):
        check_state_edit(parse_text, with_state, text, saw.id, state)


@pytest.mark.parametrize("text", ["* TODO a\n", "- [ ] a\n", "* DONE a\n"])
def test_an_outline_with_a_task_is_a_plan(text: str) -> None:
    assert why_foreign(text) == ""
    assert why_foreign("* Notes\n- b\n") == ("it has no task, such as: * TODO Call the bank")
