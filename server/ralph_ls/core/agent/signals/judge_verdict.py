"""Verdict of a judge: the last block in its final text that has the token of its prompt.

The block is JSON, so nothing in it is guessed. Its token was made for this one judge: a block
that is in the diff, in a file or in quoted text has another one and counts for nothing. A verdict
that was reported by a tool is a ``JudgeReport`` as well and needs no text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from pydantic import ValidationError

from ralph_ls.core.agent.text import clean_text
from ralph_ls.protocol.run.report import JudgeReport, JudgeVerdict, RequestedChange

BEGIN, END = "---JUDGE_STATUS---", "---END_JUDGE_STATUS---"

MAX_CHANGES = 50
MAX_FILE, MAX_REASON = 500, 2_000
"""Characters that are kept."""

_BLOCK = re.compile(rf"^[ \t>]*{BEGIN}[ \t]*$(.*?)^[ \t>]*{END}[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadVerdict:
    """What came of reading a judge's final text."""

    report: JudgeReport | None = None
    problem: str = ""
    """Why there is no verdict, in words; empty where there is one."""


def read_verdict(text: str, token: str) -> ReadVerdict:
    """The verdict in a judge's final text; total."""
    problem = "it gave no verdict"
    for block in reversed(_BLOCK.findall(clean_text(text))):
        try:
            found = json.loads(_without_fence(block))
        except (ValueError, RecursionError):
            if token in block:
                return ReadVerdict(problem="its verdict is not valid JSON")
            continue
        if not isinstance(found, dict) or found.get("token") != token:
            problem = "its verdict has not the token of this judge"
            continue
        return _typed(found)
    return ReadVerdict(problem=problem)


def settle_report(report: JudgeReport, token: str) -> ReadVerdict:
    """A typed verdict, in a form that may be kept; wherever it was reported."""
    if report.token != token:
        return ReadVerdict(problem="its verdict has not the token of this judge")
    changes = tuple(
        RequestedChange(
            file=" ".join(one.file.split())[:MAX_FILE], reason=one.reason.strip()[:MAX_REASON]
        )
        for one in report.changes[:MAX_CHANGES]
        if one.reason.strip()
    )
    reason = report.reason.strip()[:MAX_REASON]
    if report.verdict is JudgeVerdict.CHANGES_REQUESTED and not changes:
        if not reason:
            return ReadVerdict(problem="it requests changes and names none")
        changes = (RequestedChange(reason=reason),)
    if report.verdict is not JudgeVerdict.CHANGES_REQUESTED:
        changes = ()
    return ReadVerdict(report=report.model_copy(update={"changes": changes, "reason": reason}))


def _typed(found: dict[str, object]) -> ReadVerdict:
    verdict = found.get("verdict")
    if isinstance(verdict, str):
        found = {**found, "verdict": _KNOWN.get(re.sub("[^a-z]", "", verdict.lower()), verdict)}
    try:
        report = JudgeReport.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        return ReadVerdict(problem=f"its verdict has a wrong field {where}: {first['msg']}")
    return settle_report(report, report.token)


_KNOWN = {one.value.lower(): one.value for one in JudgeVerdict}


def _without_fence(block: str) -> str:
    """The JSON without quote marks and a code fence around it."""
    lines = [line.lstrip("> \t") for line in block.splitlines()]
    kept = [line for line in lines if not line.startswith(("```", "~~~"))]
    return "\n".join(kept)
