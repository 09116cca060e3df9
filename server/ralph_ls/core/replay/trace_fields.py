"""The fields of a line of a trace, one by one: what each may hold, and what in it cannot be used.

What they mean together is told in ``trace.py``. Every reader takes any JSON value and never raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from ralph_ls.core.agent.output_parser import ParsedOutput, parse_text
from ralph_ls.protocol.run.report import Promise, PromiseKind, Report, ReportKind
from ralph_ls.protocol.run.values import PlanCountsView, TaskRef

MAX_LISTED = 50
"""Commits, paths and tasks that are kept one by one; more of them say nothing more."""

MAX_NUMBER = 10**9
"""A larger number is taken as this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceProblem:
    """What of a line cannot be used."""

    code: str
    """A stable kebab-case name; with ``field`` it says what kind of problem this is."""
    message: str
    field: str = ""


@dataclass(slots=True, kw_only=True)
class TraceLineDraft:
    """One line while it is being read."""

    preferred: ReportKind
    complete_word: str
    report: Report | None = None
    reading: ParsedOutput | None = None
    evidence: TraceEvidence | None = None
    errors: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    problems: list[TraceProblem] = field(default_factory=list)

    def tell(self, code: str, name: str, message: str) -> None:
        self.problems.append(problem_of(code, message, name))

    def wrong_type(self, name: str, value: object, wanted: str) -> None:
        message = f"{name} is {wanted}, this is {kind_of(value)}; it is left out"
        self.tell("wrong-type", name, message)

    def read(self, text: str) -> ParsedOutput:
        return parse_text(text, preferred=self.preferred, complete_word=self.complete_word)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvidence:
    """The field ``evidence``."""

    commits: tuple[int, tuple[str, ...]] = (0, ())
    """How many, and what the first are called."""
    files: tuple[int, tuple[str, ...]] = (0, ())
    tasks: tuple[int, tuple[str, ...]] = (0, ())


def names_of(count: int, known: tuple[str, ...], name: Callable[[int], str]) -> tuple[str, ...]:
    """As many names as there are things, the first of them known, at most ``MAX_LISTED``."""
    kept = min(count, MAX_LISTED)
    return (*known[:kept], *(name(number) for number in range(len(known) + 1, kept + 1)))


# What each field may hold.


def _read_report(draft: TraceLineDraft, value: object) -> None:
    if isinstance(value, str):
        text = clean_text(value)
        draft.report = draft.read(text).report
        if draft.report is None and text.strip():
            draft.report = draft.read(_as_block(text)).report
        if draft.report is None:
            draft.tell("no-report", "report", "no status block can be read in the text of report")
    elif isinstance(value, dict):
        fields = value.get("fields")
        given = fields if isinstance(fields, dict) else value
        draft.report = _report_of({key: _field_text(draft, key, given[key]) for key in given})
    else:
        draft.wrong_type("report", value, "the fields of a status block")


def _as_block(text: str) -> str:
    return f"---RALPH_STATUS---\n{text}\n---END_RALPH_STATUS---"


def _report_of(given: Mapping[object, str]) -> Report:
    fields = {clean_text(str(key)).strip().upper(): text for key, text in given.items()}
    is_clarity = not _CLARITY_FIELDS.isdisjoint(fields)
    kind = ReportKind.CLARITY_STATUS if is_clarity else ReportKind.RALPH_STATUS
    return Report(kind=kind, fields=fields)


def _field_text(draft: TraceLineDraft, key: object, value: object) -> str:
    match value:
        case None:
            return ""
        case str():
            return clean_text(value)
        case bool():
            return str(value).lower()
        case int() | float():
            return _number_text(value)
        case _:
            name = f"report.{clean_text(str(key))[:80]}"
            draft.wrong_type(name, value, "a text, a number, true or false")
            return ""


def _number_text(value: float) -> str:
    """The number as an agent writes it; Python writes none of more than some thousand digits."""
    bounded = _bounded(value)
    return str(bounded) if isnan(bounded) or bounded != int(bounded) else str(int(bounded))


def _read_evidence(draft: TraceLineDraft, value: object) -> None:
    if not isinstance(value, dict):
        draft.wrong_type("evidence", value, "an object with commits, files and tasks")
        return
    found: dict[str, tuple[int, tuple[str, ...]]] = {}
    for name, given in value.items():
        if name in TraceEvidence.__dataclass_fields__:
            if (counted := _counted(draft, f"evidence.{name}", given)) is not None:
                found[name] = counted
        else:
            shown = f"evidence.{clean_text(str(name))[:80]}"
            draft.tell("unknown-field", shown, f"nothing is known of a field {shown!r}")
    draft.evidence = TraceEvidence(**found)


def _counted(draft: TraceLineDraft, name: str, value: object) -> tuple[int, tuple[str, ...]] | None:
    """How many there are, and the names of the first where they are listed."""
    if isinstance(value, list):
        names = [clean_text(entry) for entry in value[:MAX_LISTED] if isinstance(entry, str)]
        return len(value), tuple(name for name in names if name.strip())
    number = _number(value)
    if number is None and value is not None:
        draft.wrong_type(name, value, "a number from 0, or a list")
    return None if number is None else (number, ())


def _read_errors(draft: TraceLineDraft, value: object) -> None:
    given = value if isinstance(value, list) else [value]
    lines: list[str] = []
    for entry in given:
        if isinstance(entry, str):
            lines.extend(line.strip() for line in clean_text(entry).splitlines())
        else:
            draft.wrong_type("errors", entry, "a list of lines")
    draft.errors = tuple(filter(None, lines))


def _read_final_text(draft: TraceLineDraft, value: object) -> None:
    if isinstance(value, str):
        draft.reading = draft.read(clean_text(value))
    else:
        draft.wrong_type("finalText", value, "a text")


def _read_promise(draft: TraceLineDraft, value: object) -> None:
    given = value if isinstance(value, list) else [value]
    found = [promise for entry in given for promise in _promises_of(draft, entry)]
    draft.promises = tuple(found)


def _promises_of(draft: TraceLineDraft, value: object) -> tuple[Promise, ...]:
    if isinstance(value, str):
        text = clean_text(value).strip()
        tagged = text if "<promise>" in text else f"<promise>{text}</promise>"
        found = draft.read(tagged).promises
    elif isinstance(value, dict):
        found = _promise_of_fields(value)
    else:
        draft.wrong_type("promise", value, "a kind and a text")
        return ()
    if not found:
        message = f"this is no promise: {draft.complete_word}, BLOCKED:reason or DECIDE:question"
        draft.tell("no-promise", "promise", message)
    return found


def _promise_of_fields(value: Mapping[object, object]) -> tuple[Promise, ...]:
    kind, text = value.get("kind"), value.get("text")
    said = clean_text(text).strip() if isinstance(text, str) else ""
    name = kind.lower() if isinstance(kind, str) else ""
    if name == PromiseKind.COMPLETE.value:
        return (Promise(kind=PromiseKind.COMPLETE),)
    if name not in {PromiseKind.BLOCKED.value, PromiseKind.DECIDE.value} or not said:
        return ()
    return (Promise(kind=PromiseKind(name), text=said),)


def _read_plan(draft: TraceLineDraft, value: object) -> None:
    if not isinstance(value, dict):
        draft.wrong_type("plan", value, "an object with total, open, blocked and marker")
        return
    numbers: dict[str, int] = {}
    for name, given in value.items():
        if given is None:
            continue
        shown = f"plan.{clean_text(str(name))[:80]}"
        if name in {"total", "open", "blocked"}:
            number = _number(given)
            if number is None:
                draft.wrong_type(shown, given, "a number from 0")
            else:
                numbers[name] = number
        elif name != "marker":
            draft.tell("unknown-field", shown, f"nothing is known of a field {shown!r}")
        elif not isinstance(given, bool):
            draft.wrong_type(shown, given, "true or false")
    draft.values["counts"] = _counts_of(numbers, marker=value.get("marker") is True)


def _counts_of(numbers: Mapping[str, int], *, marker: bool) -> PlanCountsView:
    """The plan in numbers; without ``open`` nobody knows more of it than its marker."""
    if "open" not in numbers:
        return PlanCountsView(marker=marker)
    n_blocked = numbers.get("blocked", 0)
    n_open = max(numbers["open"], n_blocked)
    total = max(numbers.get("total", 1), n_open)
    return PlanCountsView(
        total=total,
        done=total - n_open,
        open_required=n_open,
        blocked_required=n_blocked,
        required=total,
        required_done=total - n_open,
        marker=marker,
    )


def _read_task(draft: TraceLineDraft, value: object) -> None:
    given, title = value, None
    if isinstance(value, dict):
        given, title = value.get("id"), value.get("title")
    if isinstance(given, int) and not isinstance(given, bool):
        given = _number_text(given)
    if not isinstance(given, str) or not given.strip():
        draft.wrong_type("task", given, "the id of a task")
        return
    task_id = clean_text(given).strip()
    shown = clean_text(title) if isinstance(title, str) else task_id
    draft.values["task"] = TaskRef(id=task_id, title=shown)


def _read_limit(draft: TraceLineDraft, value: object) -> None:
    if isinstance(value, bool | dict):
        draft.values["limited"] = value is not False
    else:
        draft.wrong_type("limit", value, "true, or an object with resetsAt")


def _read_denied_tools(draft: TraceLineDraft, value: object) -> None:
    given = [value] if isinstance(value, str) else value
    counted = _counted(draft, "deniedTools", given)
    if counted is not None:
        draft.values["denied_tools"] = names_of(*counted, lambda _number: "a tool")


def _read_exit_code(draft: TraceLineDraft, value: object) -> None:
    if isinstance(value, int) and not isinstance(value, bool):
        draft.values["exit_code"] = int(_bounded(value))
    else:
        draft.wrong_type("exitCode", value, "a whole number")


def _read_timed_out(draft: TraceLineDraft, value: object) -> None:
    _read_flag(draft, "timedOut", "timed_out", value)


def _read_validated(draft: TraceLineDraft, value: object) -> None:
    _read_flag(draft, "validated", "validated", value)


def _read_flag(draft: TraceLineDraft, name: str, key: str, value: object) -> None:
    if isinstance(value, bool):
        draft.values[key] = value
    else:
        draft.wrong_type(name, value, "true or false")


READERS: Mapping[str, Callable[[TraceLineDraft, object], None]] = {
    "report": _read_report,
    "evidence": _read_evidence,
    "errors": _read_errors,
    "finalText": _read_final_text,
    "promise": _read_promise,
    "plan": _read_plan,
    "task": _read_task,
    "limit": _read_limit,
    "deniedTools": _read_denied_tools,
    "exitCode": _read_exit_code,
    "timedOut": _read_timed_out,
    "validated": _read_validated,
}

_CLARITY_FIELDS = frozenset(
    {"PR_READY", "CLARIFICATION_NEEDED", "CLARIFICATION_QUESTIONS", "WORK_SUMMARY"}
)
"""Fields that only A's block has."""


# What all of them need.


def _number(value: object) -> int | None:
    """A count; None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    return int(_bounded(value))


def _bounded(value: float) -> float:
    """The number where it is of a sensible size, else the nearest that is; no number stays none."""
    return max(min(value, MAX_NUMBER), -MAX_NUMBER)


def clean_text(text: str) -> str:
    """The text without half characters, which JSON can hold and no other text can."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def problem_of(code: str, message: str, name: str = "") -> TraceProblem:
    """A problem of one field, or of the line where none is named."""
    return TraceProblem(code=code, message=message, field=name)
