"""Wording that several views share: counts, times, claims and facts.

A claim and the fact beside it use the same words in the same order, so that they can be compared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.core.plurals import count_of, numbered_iteration, some_of
from ralph_ls.core.prompt.judge import change_line
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.events import (
    AgentReported,
    GuardReverted,
    Judged,
    JudgeStarted,
    LessonRemembered,
)
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.report import (
    STATUSES,
    AgentFailure,
    Claims,
    JudgeVerdict,
    Report,
    word_of,
)
from ralph_ls.protocol.run.state import IterationFacts, JudgeTotals, RunState
from ralph_ls.protocol.run.values import Evidence, Mode, Outcome

SHORT_HASH = 7
"""Shown digits of a commit hash."""

SHOWN_TASKS = 3
"""Task titles in one sentence."""

SHOWN_REASON = 80
"""Characters of a reason within a title."""

MAX_CLAIM_CHARS = 300
"""Shown characters of what an agent says that it did."""

OUTCOME_WORDS = {
    Outcome.PROGRESS: "progress",
    Outcome.NO_PROGRESS: "no progress",
    Outcome.STOPPED: "stopped",
    Outcome.LIMITED: "usage limit, not counted",
    Outcome.LOST: "engine died",
}

FAILURE_WORDS = {
    AgentFailure.NOT_LOGGED_IN: "not logged in",
    AgentFailure.LIMIT: "usage limit",
    AgentFailure.OVERLOADED: "model overloaded",
    AgentFailure.UNREACHABLE: "API unreachable",
    AgentFailure.CONTEXT_FULL: "context window full",
    AgentFailure.MAX_TURNS: "turn limit reached",
    AgentFailure.BUDGET: "cost limit reached",
    AgentFailure.REFUSED_AS_ROOT: "refuses root",
    AgentFailure.WRONG_CALL: "wrong flag or setting",
    AgentFailure.CRASHED: "crashed",
    AgentFailure.NO_OUTPUT: "no output",
    AgentFailure.KILLED: "killed",
    AgentFailure.IDLE: "silent for too long",
    AgentFailure.TIMED_OUT: "timed out",
    AgentFailure.OTHER: "agent failed",
}
"""Words for each failure of an agent, shown beside the outcome of its iteration."""


def failure_counts(counts: Mapping[str, int]) -> str:
    """``crashed 1, out of time 2``, by kind and number of failures."""
    return ", ".join(f"{FAILURE_WORDS[AgentFailure(kind)]} {n}" for kind, n in counts.items())


CONFIRMED = "confirmed that nothing is left to do"
"""A confirming iteration that came to its own end."""


def outcome_words(
    outcome: Outcome, failure: AgentFailure | None, *, confirmed: bool = False
) -> str:
    """``progress, out of time``; ``model overloaded, does not count``."""
    if confirmed:
        return CONFIRMED
    if failure is None:
        return OUTCOME_WORDS[outcome]
    if outcome is Outcome.LIMITED:
        return f"{FAILURE_WORDS[failure]}, not counted"
    return f"{OUTCOME_WORDS[outcome]}, {FAILURE_WORDS[failure]}"


def one_line(text: str, *, limit: int) -> str:
    """Untrusted text on one line of at most ``limit`` characters, escaped."""
    folded = escape_control_chars(" ".join(text.split()))
    return (
        folded
        if len(folded) <= limit
        else f"{folded[: _split_position(folded, limit - 1)].rstrip()}…"
    )


def request_words(request: RequestView) -> str:
    """``Letters get lost (owner/name#12)``: a request by its title, and where it comes from."""
    title = one_line(request.title, limit=SHOWN_REASON)
    return f"{title} ({one_line(request.source, limit=SHOWN_REASON)})"


def some_lines(text: str) -> str:
    """Untrusted text with its lines kept, escaped."""
    return "\n".join(escape_control_chars(line.rstrip()) for line in text.strip().splitlines())


def split_text(text: str, limit: int) -> tuple[str, str]:
    """At most the first ``limit`` characters, and the rest; split between words where possible."""
    if len(text) <= limit:
        return text, ""
    at = _split_position(text, limit)
    space = text.rfind(" ", limit // 2, at + 1)
    at = at if space < 0 else space
    return text[:at].rstrip(), text[at:].lstrip()


def minutes_words(seconds: float) -> str:
    """``under 1 min``, ``6 min``, ``2 h 5 min``: a text that changes once a minute at most."""
    whole = int(max(0.0, seconds) // 60)
    hours, left = divmod(whole, 60)
    if hours:
        return f"{hours} h {left} min"
    return f"{left} min" if left else "under 1 min"


def reported_words(event: AgentReported | LessonRemembered) -> str:
    """What an agent reported by tool, on one line: the tool, and what it says."""
    if isinstance(event, LessonRemembered):
        return f"Lesson proposed: {one_line(event.text, limit=MAX_CLAIM_CHARS)}"
    who = "A sub-agent reported by tool" if event.sub_agent else "Reported by tool"
    said = [str(event.arguments[key]) for key in _SAID if event.arguments.get(key)]
    words = one_line(": ".join(said), limit=MAX_CLAIM_CHARS)
    return f"{who}: {event.tool.value}{f': {words}' if words else ''}"


_SAID = ("status", "task", "title", "reason", "question", "text", "workSummary")
"""Arguments of the tools that say what a call is about."""


def claim_words(report: Report) -> str:
    """A report in words: only the fields that it has."""
    parts = [_status_words(report)]
    if "FILES_MODIFIED" in report.fields:
        parts.append(count_of(report.files_modified, "file"))
    if "TASKS_COMPLETED_THIS_LOOP" in report.fields:
        parts.append(count_of(report.tasks_completed, "task"))
    if "TESTS_STATUS" in report.fields:
        parts.append(f"tests {report.tests_status.lower().replace('_', ' ')}")
    return escape_control_chars(", ".join(parts))


def _status_words(report: Report) -> str:
    """Its status; one that is none of ours as the agent wrote it, with what it is taken for."""
    given = " ".join(report.fields.get("STATUS", "").split())
    is_ours = not given or word_of(given, STATUSES) is not None
    if is_ours:
        return report.status
    return f'"{one_line(given, limit=SHOWN_REASON)}", taken for {report.status}'


def claims_words(claims: Claims | None) -> str:
    """``"Fixed rounding", ready for a pull request, confidence 60``; empty where the agent claims
    nothing beside what `claim_words` shows.
    """
    if claims is None:
        return ""
    parts = [f'"{one_line(claims.summary, limit=MAX_CLAIM_CHARS)}"'] if claims.summary else []
    if claims.pr_ready is not None:
        parts.append(f"{'' if claims.pr_ready else 'not '}ready for a pull request")
    if claims.clarification_words:
        parts.append(f"needs clarification ({', '.join(claims.clarification_words)})")
    return ", ".join([*parts, f"confidence {claims.confidence}"]) if parts else ""


def evidence_words(evidence: Evidence) -> str:
    """Evidence in words: always all three counts, then why it was no progress."""
    n_user_commits = sum(commit.by_person for commit in evidence.commits)
    beside = " besides the loop's own" if evidence.own_files else ""
    counts = [
        count_of(len(evidence.commits) - n_user_commits, "commit"),
        count_of(evidence.files, "file") + beside,
        count_of(len(evidence.tasks_done), "task"),
    ]
    # The user's commits are not the agent's progress (docs/rules.md#evidence).
    if n_user_commits:
        counts.append(f"{count_of(n_user_commits, 'commit')} of yours")
    observed = ", ".join(counts)
    return escape_control_chars(
        observed if evidence.progress else f"{observed}, no progress: {evidence.why}"
    )


def changed_files(evidence: Evidence) -> int:
    """How many files a diff of the iteration shows: the loop's own are among them."""
    return evidence.files + (evidence.own_files or 0)


def with_mode(what: str, mode: Mode) -> str:
    """``review Round half a cent up``: the mode before the title, in reviews only."""
    return f"{mode.value} {what}" if mode in {Mode.REVIEW, Mode.REVIEW_FIX} else what


def reverted_words(event: GuardReverted) -> str:
    """``2 open tasks were dropped from @fix_plan.md: Read the law, Round half a cent up``."""
    tasks = count_of(event.n_tasks, "task")
    words = {
        Forbidden.DROPPED: f"{count_of(event.n_tasks, 'open task')} dropped from {event.path}",
        Forbidden.SKIPPED: f"{count_of(event.n_tasks, 'open task')} marked skipped in {event.path}",
        Forbidden.CRITERIA: f"criteria of {tasks} changed in {event.path}",
        Forbidden.REVIEW: f"review of {tasks} moved against the cycle in {event.path}",
        Forbidden.PRIORITY: f"priority of {tasks} changed in {event.path}",
        Forbidden.DEPENDENCY: f"dependencies of {tasks} dropped from {event.path}",
        Forbidden.TYPE: f"type of {tasks} changed in {event.path}",
        Forbidden.VERIFY: f"the commands that verify the work, changed in {event.path}",
        Forbidden.CHANGED: f"{event.path}, which was changed",
        Forbidden.DELETED: f"{event.path}, which was deleted",
        Forbidden.CREATED: f"{event.path}, which was created (now removed)",
    }[event.what]
    names = [one_line(task.title, limit=SHOWN_REASON) for task in event.tasks[:SHOWN_TASKS]]
    names += ["…"] if event.n_tasks > len(names) > 0 else []
    return escape_control_chars(words) + (f": {', '.join(names)}" if names else "")


def iteration_words(state: RunState) -> str:
    """The newest iteration of a run, like `numbered_iteration`."""
    return numbered_iteration(state.iteration, state.config.max_iterations, state.tries)


def committed_words(event: GuardReverted) -> str:
    """``(commit 1a2b3c4)``, the commit that restored it; empty where there is none."""
    return "" if event.commit is None else f" (commit {event.commit[:7]})"


def recent_words(recent: Iterable[IterationFacts]) -> Iterator[str]:
    """``iteration 3: no progress``, ``iteration 2: progress, 4 files``: the newest first."""
    for one in sorted(recent, key=lambda facts: facts.start, reverse=True):
        counts = ((one.files, "file"), (one.commits, "commit"), (one.tasks_done, "task"))
        parts = [count_of(number, noun) for number, noun in counts if number]
        how = outcome_words(one.outcome, one.failure, confirmed=one.confirmed)
        yield f"iteration {one.iteration}: {', '.join((how, *parts))}"


_JOINER = "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_TAGS = range(0xE0020, 0xE0080)


def _split_position(text: str, limit: int) -> int:
    """The last position up to ``limit`` that splits no grapheme."""
    at = limit
    while at > 0 and _belong_together(text[at - 1], text[at]):
        at -= 1
    # Data without such a position is not text and is split anywhere.
    return at or limit


def _belong_together(before: str, after: str) -> bool:
    code = ord(after)
    return (
        _JOINER in {before, after}
        or unicodedata.category(after).startswith("M")
        or code in _SKIN_TONES
        or code in _TAGS
        or (code in _FLAG_LETTERS and ord(before) in _FLAG_LETTERS)
    )


# Words of a judge's verdict, the same in every view.
#
# A verdict is neither claim nor evidence, so it has its own line beside both. What it says is
# untrusted text on one line.


MAX_CHARS = 300
SHOWN_CHANGES = 3
SHOWN_TITLES = 2

VERDICT_WORDS = {
    JudgeVerdict.PASSED: "pass",
    JudgeVerdict.CHANGES_REQUESTED: "changes requested",
    JudgeVerdict.CANNOT_TELL: "undecided",
}


def verdict_words(judged: Judged) -> str:
    """``changes requested: src/a.py: the sum is wrong``."""
    words = VERDICT_WORDS[judged.verdict]
    if judged.verdict is JudgeVerdict.CHANGES_REQUESTED:
        wants = [one_line(change_line(one), limit=MAX_CHARS) for one in judged.changes]
        more = "; …" if len(wants) > SHOWN_CHANGES else ""
        return f"{words}: {'; '.join(wants[:SHOWN_CHANGES])}{more}"
    reason = one_line(judged.reason, limit=MAX_CHARS)
    return f"{words}: {reason}" if reason else words


def change_lines(judged: Judged) -> Iterator[str]:
    """Each change that it requests, on one line."""
    yield from (one_line(change_line(one), limit=MAX_CHARS) for one in judged.changes)


def judging_words(event: JudgeStarted) -> str:
    """``judging First task (claude, round 2 of 3)``."""
    titles = [one_line(task.title, limit=80) for task in event.tasks]
    about = some_of(titles, SHOWN_TITLES) if titles else "the work of the run"
    who = event.agent if event.model is None else f"{event.agent}, model {event.model}"
    again = f", round {event.round} of {event.max_rounds}" if event.round > 1 else ""
    return f"judging {about} ({who}{again})"


def totals_words(totals: JudgeTotals) -> str:
    """``2 passed, 1 changes requested``; empty where nothing was judged."""
    counts = (
        (totals.passed, "passed"),
        (totals.changes, "changes requested"),
        (totals.unclear, "not judged"),
        (totals.overruled, "overruled by you"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def judge_tokens(totals: JudgeTotals) -> int | None:
    """Input and output tokens of all judges; None where none has reported any."""
    return tokens_of(totals.usage)
