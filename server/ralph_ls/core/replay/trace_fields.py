"""Fields of a trace line: their types, and the problems of values that cannot be used.

``trace`` documents what the fields mean. pydantic checks their types; a value of another type is
reported and left out, so that the rest of the line counts. Nothing raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isnan
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from ralph_ls.core.agent.output_parser import ParsedOutput
from ralph_ls.protocol.run.report import Promise, PromiseKind, Report, ReportKind
from ralph_ls.protocol.run.values import PlanCountsView, TaskRef

MAX_LISTED = 50
"""Commits, paths and tasks that are kept one by one; more of them add no information."""

MAX_NUMBER = 10**9
"""A larger number is replaced by this one."""

MAX_SHOWN_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceProblem:
    """A part of a line that cannot be used."""

    code: str
    """A stable kebab-case name; with ``field`` it identifies the kind of problem."""
    message: str
    field: str = ""


Problems = list[TraceProblem]
"""The problems found so far; the context of every validation."""


def problem_of(code: str, message: str, name: str = "") -> TraceProblem:
    """A problem of one field, or of the line where none is named."""
    return TraceProblem(code=code, message=message, field=name)


def wrong_type(name: str, value: object, expected: str) -> TraceProblem:
    """The problem of a value of another type than expected."""
    message = f"{name} must be {expected}, but is {kind_of(value)}; ignored"
    return problem_of("wrong-type", message, name)


def names_of(count: int, known: tuple[str, ...], name: Callable[[int], str]) -> tuple[str, ...]:
    """As many names as there are things, the first of them known, at most ``MAX_LISTED``."""
    kept = min(count, MAX_LISTED)
    return (*known[:kept], *(name(number) for number in range(len(known) + 1, kept + 1)))


# Types of values.


def _expect(name: str, expected: str) -> WrapValidator:
    """Report a value of another type and leave it out: it becomes None, as a missing one is."""

    def check(
        value: object, validate: ValidatorFunctionWrapHandler, info: ValidationInfo[Problems]
    ) -> Any:
        if value is None:
            return None
        try:
            return validate(value)
        except ValidationError:
            info.context.append(wrong_type(name, value, expected))
            return None

    return WrapValidator(check)


def _clean(value: object) -> object:
    return clean_text(value) if isinstance(value, str) else value


def _to_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError("not a count")
    return int(_bounded(value))


def _to_counted(value: object) -> tuple[int, tuple[str, ...]]:
    if not isinstance(value, list):
        return _to_count(value), ()
    names = [clean_text(entry) for entry in value[:MAX_LISTED] if isinstance(entry, str)]
    return len(value), tuple(name for name in names if name.strip())


Text = Annotated[StrictStr, BeforeValidator(_clean)]
Count = Annotated[int, PlainValidator(_to_count)]
Counted = Annotated[tuple[int, tuple[str, ...]], PlainValidator(_to_counted)]
"""A number of things, and the names of the first where they are listed."""

NOTHING: tuple[int, tuple[str, ...]] = (0, ())


class _TraceObject(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _clean_keys(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {clean_text(str(key)): given for key, given in value.items()}

    def unknown(self, prefix: str = "", *, with_nulls: bool = True) -> Problems:
        """A problem for each name that is not a field."""
        return [
            problem_of("unknown-field", f"unknown field {shown!r}", shown)
            for name, given in (self.model_extra or {}).items()
            if with_nulls or given is not None
            for shown in [prefix + name[:MAX_SHOWN_NAME]]
        ]


class TraceEvidence(_TraceObject):
    """The field ``evidence``."""

    commits: Annotated[
        Counted | None, _expect("evidence.commits", "a number from 0, or a list")
    ] = None
    files: Annotated[Counted | None, _expect("evidence.files", "a number from 0, or a list")] = None
    tasks: Annotated[Counted | None, _expect("evidence.tasks", "a number from 0, or a list")] = None


class TracePlan(_TraceObject):
    """The field ``plan``."""

    total: Annotated[Count | None, _expect("plan.total", "a number from 0")] = None
    open: Annotated[Count | None, _expect("plan.open", "a number from 0")] = None
    blocked: Annotated[Count | None, _expect("plan.blocked", "a number from 0")] = None
    marker: Annotated[StrictBool | None, _expect("plan.marker", "true or false")] = None

    @property
    def counts(self) -> PlanCountsView:
        """The counts; without ``open`` only the marker is known."""
        is_marked = self.marker is True
        if self.open is None:
            return PlanCountsView(marker=is_marked)
        n_blocked = self.blocked or 0
        n_open = max(self.open, n_blocked)
        total = max(1 if self.total is None else self.total, n_open)
        return PlanCountsView(
            total=total,
            done=total - n_open,
            open_required=n_open,
            blocked_required=n_blocked,
            required=total,
            required_done=total - n_open,
            marker=is_marked,
        )


class TraceFields(_TraceObject):
    """One line of a trace; None for fields that are missing or cannot be used."""

    report: Annotated[
        Text | dict[Any, Any] | None, _expect("report", "the fields of a status block")
    ] = None
    evidence: Annotated[
        TraceEvidence | None, _expect("evidence", "an object with commits, files and tasks")
    ] = None
    errors: Any = None
    final_text: Annotated[Text | None, _expect("finalText", "text")] = Field(
        None, alias="finalText"
    )
    promise: Any = None
    plan: Annotated[
        TracePlan | None, _expect("plan", "an object with total, open, blocked and marker")
    ] = None
    task: Any = None
    limit: Annotated[
        StrictBool | dict[Any, Any] | None, _expect("limit", "true, or an object with resetsAt")
    ] = None
    denied_tools: Annotated[
        Counted | None,
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
        _expect("deniedTools", "a number from 0, or a list"),
    ] = Field(None, alias="deniedTools")
    exit_code: Annotated[StrictInt | None, _expect("exitCode", "a whole number")] = Field(
        None, alias="exitCode"
    )
    timed_out: Annotated[StrictBool | None, _expect("timedOut", "true or false")] = Field(
        None, alias="timedOut"
    )
    validated: Annotated[StrictBool | None, _expect("validated", "true or false")] = None


FIELD_NAMES = tuple(field.alias or name for name, field in TraceFields.model_fields.items())


def read_fields(value: Mapping[Any, object], found: Problems) -> TraceFields:
    """Check the types of a line's fields, and the names of inner ones."""
    fields = TraceFields.model_validate(value, context=found)
    if fields.evidence is not None:
        found += fields.evidence.unknown("evidence.")
    if fields.plan is not None:
        found += fields.plan.unknown("plan.", with_nulls=False)
    return fields


# Fields with a text that has to be parsed.

TextReader = Callable[[str], ParsedOutput]


def report_of(
    given: str | Mapping[Any, object], read: TextReader, found: Problems
) -> Report | None:
    """The report of a block's text, or of its fields."""
    if not isinstance(given, str):
        inner = given.get("fields")
        fields = inner if isinstance(inner, dict) else given
        return _report_of({key: _field_text(key, fields[key], found) for key in fields})
    report = read(given).report
    if report is None and given.strip():
        report = read(f"---RALPH_STATUS---\n{given}\n---END_RALPH_STATUS---").report
    if report is None:
        message = "the text of report contains no status block"
        found.append(problem_of("no-report", message, "report"))
    return report


def _report_of(given: Mapping[Any, str]) -> Report:
    fields = {clean_text(str(key)).strip().upper(): text for key, text in given.items()}
    is_clarity = not _CLARITY_FIELDS.isdisjoint(fields)
    kind = ReportKind.CLARITY_STATUS if is_clarity else ReportKind.RALPH_STATUS
    return Report(kind=kind, fields=fields)


def _field_text(key: object, value: object, found: Problems) -> str:
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
            name = f"report.{clean_text(str(key))[:MAX_SHOWN_NAME]}"
            found.append(wrong_type(name, value, "text, a number, true or false"))
            return ""


def _number_text(value: float) -> str:
    """The number as an agent writes it; Python writes none of more than some thousand digits."""
    bounded = _bounded(value)
    return str(bounded) if isnan(bounded) or bounded != int(bounded) else str(int(bounded))


def errors_of(given: object, found: Problems) -> tuple[str, ...]:
    """Error lines, from a text or a list of texts."""
    lines: list[str] = []
    for entry in given if isinstance(given, list) else [given]:
        if isinstance(entry, str):
            lines.extend(line.strip() for line in clean_text(entry).splitlines())
        else:
            found.append(wrong_type("errors", entry, "a list of lines"))
    return tuple(filter(None, lines))


def promises_of(
    given: object, read: TextReader, complete_word: str, found: Problems
) -> tuple[Promise, ...]:
    """Promises, from a text or a kind with a text, or from a list of these."""
    promises: list[Promise] = []
    for entry in given if isinstance(given, list) else [given]:
        if isinstance(entry, str):
            text = clean_text(entry).strip()
            tagged = text if "<promise>" in text else f"<promise>{text}</promise>"
            these = read(tagged).promises
        elif isinstance(entry, dict):
            these = _promise_of_fields(entry)
        else:
            found.append(wrong_type("promise", entry, "a kind and a text"))
            continue
        if not these:
            message = f"not a promise: {complete_word}, BLOCKED:reason or DECIDE:question"
            found.append(problem_of("no-promise", message, "promise"))
        promises.extend(these)
    return tuple(promises)


def _promise_of_fields(value: Mapping[object, object]) -> tuple[Promise, ...]:
    kind, given = value.get("kind"), value.get("text")
    text = clean_text(given).strip() if isinstance(given, str) else ""
    name = kind.lower() if isinstance(kind, str) else ""
    if name == PromiseKind.COMPLETE.value:
        return (Promise(kind=PromiseKind.COMPLETE),)
    if name not in {PromiseKind.BLOCKED.value, PromiseKind.DECIDE.value} or not text:
        return ()
    return (Promise(kind=PromiseKind(name), text=text),)


_CLARITY_FIELDS = frozenset(
    {"PR_READY", "CLARIFICATION_NEEDED", "CLARIFICATION_QUESTIONS", "WORK_SUMMARY"}
)
"""Fields of the clarity loop's block only."""


def task_of(value: object, found: Problems) -> TaskRef | None:
    """The task, from its id or an object with its id and title."""
    given, title = value, None
    if isinstance(value, dict):
        given, title = value.get("id"), value.get("title")
    if isinstance(given, int) and not isinstance(given, bool):
        given = _number_text(given)
    if not isinstance(given, str) or not given.strip():
        found.append(wrong_type("task", given, "the id of a task"))
        return None
    task_id = clean_text(given).strip()
    return TaskRef(id=task_id, title=clean_text(title) if isinstance(title, str) else task_id)


# Helpers.


def bounded_int(value: int) -> int:
    """The number, or the nearest one within ``MAX_NUMBER``."""
    return int(_bounded(value))


def _bounded(value: float) -> float:
    """The number, or the nearest one within ``MAX_NUMBER``; NaN stays NaN."""
    return max(min(value, MAX_NUMBER), -MAX_NUMBER)


def clean_text(text: str) -> str:
    """Replace lone surrogates, which JSON can contain but no encoded text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def kind_of(value: object) -> str:
    """The kind of a JSON value, in words."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
