"""What failed outside any iteration, in the summary, the status, the panel and the doctor."""

from __future__ import annotations

from ralph_ls.core.views.panel.facts import facts
from ralph_ls.core.views.report.doctor_last_run import LastRun, check_last_run
from ralph_ls.core.views.text.run_end import summary_lines
from ralph_ls.core.views.text.status import status_answers
from ralph_ls.core.views.text.summary import not_done
from ralph_ls.protocol.lsp.panel import Tone
from ralph_ls.protocol.run.events import Warned, dump_event, parse_event
from ralph_ls.protocol.run.state import RunState
from tests.unit.core.views.document_contexts import seen, started
from tests.unit.core.views.run_states import event, run_started, state_after

WHY = "the command on_pr_ready ended with 3: \x1b[2Jno remote; do it yourself: ./pr"
SHOWN = WHY.replace("\x1b", "\\x1b")


def failed(number: int = 0) -> Warned:
    return event(Warned, code="on-pr-ready-failed", message=f"{number or ''}{WHY}", outside=True)


def after(*warned: Warned) -> RunState:
    return state_after(run_started(), *warned)


def test_every_report_of_a_run_says_it() -> None:
    state = after(failed())
    assert f"Not done:    {SHOWN}" in summary_lines(state, "x.csv")
    answers = dict(status_answers(state, state.phase, pid=None))
    assert answers["Not done"] == SHOWN
    (check,) = [
        one
        for one in check_last_run(LastRun(state=state, phase=state.phase, pid=1, events=()))
        if one.code == "outside-failed"
    ]
    assert check.message == SHOWN


def test_the_panel_shows_the_newest_and_all_when_expanded() -> None:
    (one,) = [fact for fact in facts(seen(started(), failed())) if fact.key == "not-done"]
    assert (one.text, one.tone, one.more) == (SHOWN, Tone.BAD, SHOWN)
    both = seen(started(), failed(), failed(2))
    (two,) = [fact for fact in facts(both) if fact.key == "not-done"]
    assert (two.text, two.more) == (f"2{SHOWN}…", f"{SHOWN}\n2{SHOWN}")


def test_other_warnings_are_none_of_it() -> None:
    state = after(event(Warned, code="on-pr-ready", message="it succeeded"))
    assert not_done(state) == []
    assert "Not done" not in dict(status_answers(state, state.phase, pid=None))


def test_the_last_five_are_kept() -> None:
    kept = after(*(failed(number) for number in range(1, 8))).outside_failures
    assert [one.message[0] for one in kept] == ["3", "4", "5", "6", "7"]


def test_a_warning_without_the_field_is_read_and_written_as_before() -> None:
    plain = event(Warned, code="context-50", message="half")
    assert b"outside" not in dump_event(plain)
    assert parse_event(dump_event(plain)) == plain


def test_what_was_sent_last_is_in_the_status() -> None:
    sent = event(Warned, code="notified", message="notified phone, command: question")
    state = after(sent)
    answers = dict(status_answers(state, state.phase, pid=None))
    assert answers["Notified"] == "phone, command: question (12:00 UTC)"
