"""Tools of an iteration: what an agent can report by the Model Context Protocol, typed.

A call is the agent's claim, as its words are: it is recorded, it is no evidence, and it lifts no
guard. The models here are the tools' input; their JSON schemas are what an agent reads.
See docs/rules.md#tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.run.report import JudgeVerdict, RequestedChange

SERVER = "ralph"
"""The server's name in an agent's settings."""

SOCKET = "RALPH_MCP_SOCKET"
"""Variable that names the socket of the open iteration to what runs in it."""

TICKET = "RALPH_MCP_TICKET"
"""Variable by which a call names the start of an iteration that it comes from.

It is not called a token, as some agents keep variables of that name from the servers they start."""

LIST_TOOLS, CALL_TOOL, HALTED = "listTools", "callTool", "halted"
"""Methods of the iteration's socket (``protocol.run.stop_hook``)."""

MOST_CALLS = 200
"""Calls of one agent that are recorded; more are refused."""


class ReportTool(StrEnum):
    """The tools, as an agent names them."""

    GET_TASK = "get_task"
    GET_PLAN = "get_plan"
    REPORT_STATUS = "report_status"
    COMPLETE_TASK = "complete_task"
    REPORT_BLOCKED = "report_blocked"
    ASK_DECISION = "ask_decision"
    ADD_TASK = "add_task"
    NOTE_DISCOVERY = "note_discovery"
    REMEMBER = "remember"


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class GetTask(StrictWireModel):
    """The task of this iteration, with its acceptance criteria."""


class GetPlan(StrictWireModel):
    """All tasks of the plan: id, title, state, and what blocks them."""


class ReportStatus(StrictWireModel):
    """Report how this iteration went. Call it last, before you end your turn."""

    status: Literal["IN_PROGRESS", "COMPLETE", "BLOCKED"] = Field(
        description="COMPLETE only if nothing in the plan is left to do and the tests pass; "
        "BLOCKED if only the user can help, better said by report_blocked; else IN_PROGRESS"
    )
    exit_signal: bool = Field(
        default=False, description="true only if nothing at all is left to do in the whole plan"
    )
    tests_status: Literal["PASSING", "FAILING", "NOT_RUN"] = Field(
        default="NOT_RUN", description="what you have seen of the tests, after your last change"
    )
    work_type: Literal["IMPLEMENTATION", "TESTING", "DOCUMENTATION", "REFACTORING"] | None = None
    tasks_completed: int = Field(default=0, ge=0, le=10_000)
    files_modified: int = Field(default=0, ge=0, le=1_000_000)
    work_summary: str = Field(default="", max_length=4000, description="one line: what you did")
    recommendation: str = Field(
        default="", max_length=4000, description="one line: what should be done next"
    )
    pr_ready: bool | None = Field(
        default=None, description="whether a pull request could be made, if the work is a request"
    )


class CriterionEvidence(StrictWireModel):
    """Why one acceptance criterion holds."""

    criterion: int = Field(ge=1, le=1000, description="its number in get_task, from 1")
    evidence: Words = Field(
        description="the command that you ran and what it printed, or the file and line that shows "
        "it"
    )


class CompleteTask(StrictWireModel):
    """Mark a task as done in the plan, with evidence for each of its acceptance criteria."""

    task: Line | None = Field(
        default=None, description="its id or title; leave it out for this iteration's task"
    )
    evidence: tuple[CriterionEvidence, ...] = Field(
        default=(), max_length=200, description="one entry for each criterion"
    )


class ReportBlocked(StrictWireModel):
    """Say that you cannot continue without the user. The run halts when you end your turn."""

    reason: Words = Field(description="what is missing that you cannot provide")
    needs: str = Field(default="", max_length=4000, description="what the user should do")


class AskDecision(StrictWireModel):
    """Ask the user to choose between alternatives, and wait for the answer."""

    question: Words
    options: tuple[Line, ...] = Field(
        default=(), max_length=20, description="the alternatives, each with its reason"
    )
    recommendation: str = Field(
        default="", max_length=4000, description="which one you would take, and why"
    )
    wait: bool = Field(
        default=True,
        description="false: end the turn now and let the run halt until it is answered",
    )


class AddTask(StrictWireModel):
    """Add an open task to the plan: work that is required and that no task names."""

    title: Line
    section: Line | None = Field(default=None, description="a heading of the plan; else its end")


class NoteDiscovery(StrictWireModel):
    """Leave a note for the next iteration: something that you found and that it should know."""

    text: Words


class Remember(StrictWireModel):
    """Propose a lesson for later runs in this repository. The user decides whether it is kept."""

    text: Words


class ReportVerdict(StrictWireModel):
    """Report your verdict on the work that you judge. Call it once, before you end your turn."""

    verdict: JudgeVerdict = Field(
        description="changesRequested if something that was asked is missing or wrong; cannotTell "
        "if you cannot decide; else pass"
    )
    reason: str = Field(default="", max_length=4000, description="one sentence")
    changes: tuple[RequestedChange, ...] = Field(
        default=(),
        max_length=50,
        description="what has to change, each with its file; only with changesRequested",
    )


ToolInput = (
    GetTask
    | GetPlan
    | ReportStatus
    | CompleteTask
    | ReportBlocked
    | AskDecision
    | AddTask
    | NoteDiscovery
    | Remember
)

TOOLS: Mapping[ReportTool, type[ToolInput]] = MappingProxyType(
    {
        ReportTool.GET_TASK: GetTask,
        ReportTool.GET_PLAN: GetPlan,
        ReportTool.REPORT_STATUS: ReportStatus,
        ReportTool.COMPLETE_TASK: CompleteTask,
        ReportTool.REPORT_BLOCKED: ReportBlocked,
        ReportTool.ASK_DECISION: AskDecision,
        ReportTool.ADD_TASK: AddTask,
        ReportTool.NOTE_DISCOVERY: NoteDiscovery,
        ReportTool.REMEMBER: Remember,
    }
)
"""The input of each tool, in the order in which they are listed."""
