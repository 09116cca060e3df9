"""Claims by tool: what an agent reported by tool, read together with its final text.

The last statement wins: a typed report counts where no later status block follows it. A blocker or
an open question halts the run, and nothing that the agent says later undoes that. Calls of
sub-agents are left out: only the main agent speaks for the iteration. See docs/rules.md#tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue, ValidationError

from ralph_ls.core.agent.output_parser import ParsedOutput, parse_text, with_report
from ralph_ls.core.agent.tools import call_key
from ralph_ls.protocol.run.agent_tools import (
    AskDecision,
    ReportBlocked,
    ReportStatus,
    ReportTool,
)
from ralph_ls.protocol.run.events import AgentReported
from ralph_ls.protocol.run.report import Promise, PromiseKind, Report, ReportKind
from ralph_ls.protocol.run.state import CurrentIteration

HALTING = frozenset({ReportTool.REPORT_BLOCKED, ReportTool.ASK_DECISION})
"""Tools after which the run halts, when the main agent has called them."""


def open_questions(current: CurrentIteration) -> tuple[AgentReported, ...]:
    """The main agent's questions in the iteration that no answer has reached."""
    return tuple(
        one
        for one in current.reported
        if one.tool is ReportTool.ASK_DECISION
        and not one.sub_agent
        and one.seq > current.answered_seq
    )


def main_calls(
    current: CurrentIteration, by_sub_agents: tuple[str, ...]
) -> tuple[AgentReported, ...]:
    """The calls that count: the main agent's, without questions that were answered meanwhile.

    ``by_sub_agents`` are calls that the agent's stream shows as those of sub-agents, each as
    ``call_key`` has it.
    """
    asked = open_questions(current)
    return tuple(
        one
        for one in current.reported
        if not one.sub_agent
        and call_key(one.tool, one.arguments) not in by_sub_agents
        and (one.tool is not ReportTool.ASK_DECISION or one in asked)
    )


def question_words(asked: AskDecision) -> str:
    """The question as the user reads it, with the alternatives and the recommendation."""
    options = "\n".join(f"- {option}" for option in asked.options)
    advice = f"Recommended: {asked.recommendation.strip()}" if asked.recommendation.strip() else ""
    return "\n\n".join(filter(None, (asked.question, options, advice)))


def blocker_words(blocked: ReportBlocked) -> str:
    """The reason as the user reads it."""
    needs = blocked.needs.strip()
    return f"{blocked.reason}\nNeeded: {needs}" if needs else blocked.reason


def to_report(stated: ReportStatus, kind: ReportKind) -> Report:
    """A typed report as the status block of the profile, with the fields that the agent gave."""
    written = {
        "tasks_completed": ("TASKS_COMPLETED_THIS_LOOP", str(stated.tasks_completed)),
        "files_modified": ("FILES_MODIFIED", str(stated.files_modified)),
        "tests_status": ("TESTS_STATUS", stated.tests_status),
        "work_type": ("WORK_TYPE", stated.work_type or ""),
        "work_summary": ("WORK_SUMMARY", " ".join(stated.work_summary.split())),
        "recommendation": ("RECOMMENDATION", " ".join(stated.recommendation.split())),
        "pr_ready": ("PR_READY", "" if stated.pr_ready is None else _flag(stated.pr_ready)),
    }
    given = (written[name] for name in written if name in stated.model_fields_set)
    fields = {"STATUS": stated.status, "EXIT_SIGNAL": _flag(stated.exit_signal)}
    return Report(kind=kind, fields=fields | {key: text for key, text in given if text})


def with_claims(
    reading: ParsedOutput,
    calls: tuple[AgentReported, ...],
    *,
    kind: ReportKind,
    complete_word: str,
    is_plain: bool,
    promises_complete: bool,
) -> ParsedOutput:
    """The agent's final text with what its calls add to it.

    ``is_plain``: the text is all that the agent printed, so a status block in it may be earlier
    than a call. ``promises_complete``: the profile's gate is the promise of COMPLETE, which a typed
    report of COMPLETE with exitSignal gives too.
    """
    halts = tuple(
        halt for one in calls if one.tool in HALTING if (halt := _halt_of(one)) is not None
    )
    stated = next((one for one in reversed(calls) if one.tool is ReportTool.REPORT_STATUS), None)
    report = None if stated is None else _report_of(stated.arguments, kind)
    if stated is not None and _has_later_block(
        reading, stated, is_plain=is_plain, complete_word=complete_word
    ):
        report = None
    completes = promises_complete and report is not None and _claims_all(report)
    complete = (Promise(kind=PromiseKind.COMPLETE),) if completes else ()
    if report is not None:
        reading = with_report(reading, report)
    return _with_promises(reading, halts, complete)


def _with_promises(
    reading: ParsedOutput, halts: tuple[Promise, ...], complete: tuple[Promise, ...]
) -> ParsedOutput:
    """The text's promises with those by tool; after a halt COMPLETE is none, wherever it is."""
    said = (*reading.promises, *halts, *complete)
    if halts:
        said = tuple(one for one in said if one.kind is not PromiseKind.COMPLETE)
    asks = any(one.kind is PromiseKind.DECIDE for one in said)
    question = "" if asks else reading.question
    return replace(reading, promises=tuple(dict.fromkeys(said)), question=question)


def _claims_all(report: Report) -> bool:
    return report.status == "COMPLETE" and report.exit_signal


def _has_later_block(
    reading: ParsedOutput, stated: AgentReported, *, is_plain: bool, complete_word: str
) -> bool:
    """Whether the final text has a status block that was printed after the call."""
    block = reading.report
    if block is None or any(one.code == "report-not-final" for one in block.problems):
        return False
    if not is_plain:
        # A decoder's final text is what follows the last tool call.
        return True
    printed_later = reading.text.encode()[stated.output_bytes :].decode(errors="replace")
    return parse_text(printed_later, complete_word=complete_word).report is not None


def _halt_of(call: AgentReported) -> Promise | None:
    try:
        if call.tool is ReportTool.REPORT_BLOCKED:
            blocked = ReportBlocked.model_validate(call.arguments)
            return Promise(kind=PromiseKind.BLOCKED, text=blocker_words(blocked))
        asked = AskDecision.model_validate(call.arguments)
    except ValidationError:
        # Another version's engine recorded it.
        return None
    return Promise(kind=PromiseKind.DECIDE, text=question_words(asked))


def _report_of(arguments: Mapping[str, JsonValue], kind: ReportKind) -> Report | None:
    try:
        return to_report(ReportStatus.model_validate(arguments), kind)
    except ValidationError:
        return None


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"
