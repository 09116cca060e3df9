"""Blocks to read, and short ways to read them."""

from __future__ import annotations

from ralph_ls.core.agent.signals.status_block import choose_report, find_blocks
from ralph_ls.protocol.run.report import Report, ReportKind

RALPH = {
    "STATUS": "IN_PROGRESS",
    "TASKS_COMPLETED_THIS_LOOP": "1",
    "FILES_MODIFIED": "3",
    "TESTS_STATUS": "PASSING",
    "WORK_TYPE": "IMPLEMENTATION",
    "EXIT_SIGNAL": "false",
    "RECOMMENDATION": "Go on with the parser.",
}
CLARITY = {
    "STATUS": "NEEDS_CLARIFICATION",
    "EXIT_SIGNAL": "true",
    "FILES_MODIFIED": "0",
    "PR_READY": "false",
    "CLARIFICATION_NEEDED": "true",
    "CLARIFICATION_QUESTIONS": "Which database?",
    "WORK_SUMMARY": "Looked around",
    "RECOMMENDATION": "Answer",
}
ANY_REPORT = "STATUS: COMPLETE\nEXIT_SIGNAL: true\nFILES_MODIFIED: 1\nTASKS_COMPLETED_THIS_LOOP: 1"
BEGIN, END = "---RALPH_STATUS---", "---END_RALPH_STATUS---"
CLARITY_BEGIN, CLARITY_END = "---CLARITY_STATUS---", "---END_CLARITY_STATUS---"


def lines_of(fields: dict[str, str]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in fields.items())


def ralph(body: str) -> str:
    return f"{BEGIN}\n{body}\n{END}\n"


def clarity(body: str) -> str:
    return f"{CLARITY_BEGIN}\n{body}\n{CLARITY_END}\n"


def read(text: str, preferred: ReportKind = ReportKind.RALPH_STATUS) -> Report | None:
    return choose_report(find_blocks(text), preferred=preferred)


def fields_of(text: str) -> dict[str, str]:
    report = read(text)
    assert report is not None
    return report.fields


def problems_of(text: str) -> list[str]:
    report = read(text)
    assert report is not None
    return [f"{problem.code} {problem.field or ''}".strip() for problem in report.problems]


WHOLE = lines_of(RALPH)
BOLD = "\n".join(f"**{key}:** {value}" for key, value in RALPH.items())
