"""Errors of requests: the one place where a failure becomes a response error.

A client gets a code it can branch on, a sentence for the user and, for wrong params, the field in
JSON's words: its author may know no Python. Tracebacks go to the log on standard error alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from cattrs.errors import (
    AttributeValidationNote,
    BaseValidationError,
    ForbiddenExtraKeysError,
    IterableValidationNote,
)
from lsprotocol.types import ResponseError
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from ralph_ls.protocol.errors import (
    AgentUnavailable,
    ConfigError,
    FromInside,
    GitMissing,
    IssuesMissing,
    IssuesRefused,
    NoEngine,
    NotAllowed,
    PlanMissing,
    PlanUnusable,
    RalphError,
    ReadOnly,
    RequestMissing,
    StateUnusable,
    UncommittedChanges,
    UsageError,
    WorkspaceBusy,
    WorkspaceMissing,
)

EXPECTED = {
    "int": "an integer",
    "string": "a string",
    "bool": "true or false",
    "float": "a number",
    "tuple": "an array",
    "list": "an array",
    "dict": "an object",
    "model": "an object",
    "model_attributes": "an object",
}
"""What pydantic calls a type in the name of an error, such as ``int_type``, to what JSON has."""

_SAME = "value error, "


class WrongJsonType(ValueError):
    """A value of one JSON type where another is expected."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(f"expected {expected}, got {name_of_type(value)}")


def name_of_type(value: object) -> str:
    """What JSON calls the type of a value that was read from it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "an array"


def describe_in_json_terms(problem: Mapping[str, Any]) -> str:
    """One of pydantic's error details; it must hold its input and its context."""
    kind: str = problem["type"]
    name, _, reason = kind.rpartition("_")
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is unknown here"
    if name == "string" and reason == "unicode":
        return "expected a string of whole characters"
    if reason in {"type", "parsing", "size"} and name in EXPECTED:
        return str(WrongJsonType(EXPECTED[name], problem["input"]))
    if kind == "int_from_float":
        return str(WrongJsonType(EXPECTED["int"], problem["input"]))
    if kind in {"enum", "literal_error"}:
        return f"expected {problem['ctx']['expected']}"
    told: str = problem["msg"][:1].lower() + problem["msg"][1:]
    return told.removeprefix(_SAME).replace("input should be", "expected", 1)


if TYPE_CHECKING:
    from pydantic import ValidationError

REQUEST_FAILED = -32803
"""LSP's RequestFailed: the request was right, and could not be fulfilled."""
INTERNAL_ERROR = -32603

ERROR_CODES: dict[type[RalphError], str] = {
    RalphError: "failed",
    UsageError: "used-wrongly",
    UncommittedChanges: "uncommitted-changes",
    ConfigError: "config-unusable",
    NotAllowed: "not-allowed",
    WorkspaceMissing: "workspace-missing",
    WorkspaceBusy: "workspace-busy",
    PlanMissing: "plan-missing",
    PlanUnusable: "plan-unusable",
    IssuesMissing: "issues-missing",
    IssuesRefused: "issues-refused",
    RequestMissing: "request-missing",
    AgentUnavailable: "agent-unavailable",
    GitMissing: "git-missing",
    NoEngine: "no-engine",
    StateUnusable: "state-unusable",
    ReadOnly: "read-only",
    FromInside: "from-inside",
}
"""``error.data.code`` of each of our errors; the names outlive the classes."""

ParamPath = tuple[str | int, ...]


def code_of(error: RalphError) -> str:
    """The stable kebab-case code of an error: its own, or the one of its nearest parent."""
    return next(ERROR_CODES[cls] for cls in type(error).__mro__ if cls in ERROR_CODES)


def to_response_error(error: BaseException, doing: str) -> ResponseError:
    """The response for ``error``, which came up in ``doing``, a method or a command."""
    match error:
        case RalphError():
            data = {"code": code_of(error)}
            return ResponseError(code=REQUEST_FAILED, message=error.message, data=data)
        case JsonRpcException():
            return error.to_response_error()
        case _:
            return ResponseError(
                code=INTERNAL_ERROR,
                message=describe_failure(error, doing),
                data={"code": "internal"},
            )


def describe_failure(error: BaseException, doing: str) -> str:
    """A sentence for an error that nobody expected; what it says may be nobody's business."""
    return f"{doing} failed ({type(error).__name__}); the server's log says where"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldProblem:
    """One thing that is wrong with params."""

    field: str
    """As ``textDocument.uri`` or ``edits[0].range``; empty for the params as a whole."""
    message: str


class InvalidParams(JsonRpcInvalidParams):
    """-32602 with every field named: ``data`` is ``{code, problems: [{field, message}]}``."""

    def __init__(self, doing: str, problems: Sequence[FieldProblem]) -> None:
        told = "; ".join(f"{each.field or 'params'}: {each.message}" for each in problems)
        listed = [{"field": each.field, "message": each.message} for each in problems]
        super().__init__(f"{doing}: {told}", data={"code": "invalid-params", "problems": listed})
        self.problems = tuple(problems)


def invalid_params(error: Exception, doing: str, *, within: str = "") -> InvalidParams:
    """What pydantic or cattrs raised, as the answer to params that ``doing`` cannot take.

    ``within`` is the argument that all of it is about.
    """
    prefix: ParamPath = (within,) if within else ()
    return InvalidParams(
        doing,
        [
            FieldProblem(field=_to_text((*prefix, *field)), message=message)
            for field, message in _problems_of(error)
        ],
    )


def invalid_field(doing: str, field: str, message: str) -> InvalidParams:
    """The same for a rule that no model holds, such as a workspace folder that is not open."""
    return InvalidParams(doing, [FieldProblem(field=field, message=message)])


def _problems_of(error: Exception) -> Iterator[tuple[ParamPath, str]]:
    if _is_of_pydantic(error):
        for each in error.errors(include_url=False):
            yield each["loc"], describe_in_json_terms(each)
    else:
        # Of a whole message only the params are the client's to fix.
        for field, message in _leaves(error, ()):
            yield (field[1:] if field[:1] == ("params",) else field), message


def _is_of_pydantic(error: BaseException) -> TypeGuard[ValidationError]:
    """Whether it is, without importing pydantic, as no such error can be where it was not."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and isinstance(error, pydantic.ValidationError)


def _leaves(error: BaseException, field: ParamPath) -> Iterator[tuple[ParamPath, str]]:
    """Every single problem under a group of cattrs, with its place."""
    field = (*field, *_steps(getattr(error, "__notes__", ())))
    if isinstance(error, BaseValidationError):
        for inner in error.exceptions:
            yield from _leaves(inner, field)
    elif _is_of_pydantic(error):
        for part, message in _problems_of(error):
            yield (*field, *part), message
    elif isinstance(error, ForbiddenExtraKeysError):
        for name in sorted(error.extra_fields):
            yield (*field, name), "is unknown here"
    elif isinstance(error, KeyError):
        yield field, "is missing"
    elif isinstance(error, WrongJsonType):
        yield field, str(error)
    else:
        # Python's own words are of no use to a client.
        told = "is out of range" if "should be in range" in str(error) else "is not a valid value"
        yield field, told


def _steps(notes: Sequence[str]) -> Iterator[str | int]:
    """From the notes that cattrs leaves on an error: an attribute's wire name, or an index."""
    for note in notes:
        if isinstance(note, AttributeValidationNote):
            first, *others = note.name.rstrip("_").split("_")
            yield first + "".join(map(str.capitalize, others))
        elif isinstance(note, IterableValidationNote):
            yield note.index


def _to_text(field: ParamPath) -> str:
    text = ""
    for step in field:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
