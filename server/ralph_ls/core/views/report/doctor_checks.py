"""Doctor checks: results with a status, a message and a remedy, for agents, plan and attempts.

Findings of the plan's lint are grouped by code, so that a hundred vague criteria are one line
(docs/rules.md#beads). Nothing here reads a plan or looks for a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ralph_ls.core.loop.inputs import PlanFacts
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark
from ralph_ls.core.plan.model import ParsedPlan
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.config.config import Config, GateRule
from ralph_ls.protocol.json_output import AgentSeen, CheckResult, CheckStatus


def passed_check(code: str, message: str) -> CheckResult:
    """A check that needs no action."""
    return CheckResult(code=code, status=CheckStatus.OK, message=message)


def warning_check(code: str, message: str, remedy: str) -> CheckResult:
    """A check that a run tolerates."""
    return CheckResult(code=code, status=CheckStatus.WARNING, message=message, remedy=remedy)


def problem_check(code: str, message: str, remedy: str) -> CheckResult:
    """A check that keeps a run from starting or continuing."""
    return CheckResult(code=code, status=CheckStatus.PROBLEM, message=message, remedy=remedy)


def check_from_message(
    code: str, message: str, *, status: CheckStatus = CheckStatus.PROBLEM
) -> CheckResult:
    """Split a message of the form "what happened; what to do", as in our errors."""
    before, newline, last = message.rpartition("\n")
    if newline:
        return CheckResult(code=code, status=status, message=before, remedy=last)
    what, _, remedy = message.partition("; ")
    return CheckResult(code=code, status=status, message=what, remedy=remedy or None)


def has_no_problem(results: Iterable[CheckResult]) -> bool:
    """Whether no check is a problem."""
    return all(one.status is not CheckStatus.PROBLEM for one in results)


def check_agents(agents: Iterable[AgentSeen]) -> list[CheckResult]:
    """One result for each installed agent, and one for all others.

    None is a problem: a separate check covers whether the run's own agent can be started, and only
    the agent itself knows whether the user is logged in.
    """
    known = list(agents)
    found = [
        passed_check("agents", f"{_name_and_version(agent)} ({agent.program}), {_account(agent)}")
        for agent in known
        if agent.program is not None
    ]
    missing = [f"{agent.name} ({agent.install})" for agent in known if agent.program is None]
    if missing:
        found.append(passed_check("agents", f"not installed: {', '.join(missing)}"))
    return found


def _name_and_version(agent: AgentSeen) -> str:
    return f"{agent.name} {agent.version or '(unknown version)'}"


def _account(agent: AgentSeen) -> str:
    if agent.account is not None:
        return f"logged in, as far as ralph can see: {agent.account}"
    return f"no login found; log in with: {agent.login}"


MAX_SHOWN_REMARKS = 3

_ABOUT = {
    CheckCode.CRITERIA_VAGUE: (
        "criteria that cannot be verified",
        "let planning name a command for each: ralph replan",
    ),
    CheckCode.CRITERIA_MISSING: (
        "tasks that do not say when they are done",
        "add criteria that can be run, or let planning do it: ralph replan",
    ),
    CheckCode.CLOSE_WITHOUT_EVIDENCE: (
        "tasks that were closed without evidence",
        "reopen them with ralph reset-task ID, and ask for the criteria's lines in the reason",
    ),
    CheckCode.DEPENDENCY_CYCLE: (
        "tasks that wait for each other",
        "remove one dependency from each cycle",
    ),
}
"""Summary and remedy of grouped remarks; other codes use the message of their first remark."""


def check_plan_read(
    path: str,
    parsed: ParsedPlan,
    remarks: Sequence[LintRemark],
    facts: PlanFacts,
    config: Config,
    *,
    tool: str = "",
) -> list[CheckResult]:
    """Results about a plan that was read; ``tool`` is whose it is, if not this loop's."""
    counts = facts.counts
    required = f"{counts.required_done} of {count_of(counts.required, 'required task')} done"
    found = [passed_check("plan", f"{path}{tool and f' ({tool})'}: {required}")]
    if parsed.problems:
        texts = [f"line {one.line}: {one.message}" for one in parsed.problems]
        message = f"{count_of(len(texts), 'problem')} in what was read: {_joined_messages(texts)}"
        found.append(warning_check("plan-problems", message, "list them: ralph plan"))
    found += _marker(path, facts, config)
    # `_marker` reports the marker, with what it means for a start.
    others = [one for one in remarks if one.code is not CheckCode.MARKER_WITH_OPEN_TASKS]
    for code in dict.fromkeys(one.code for one in others):
        found.append(_grouped(code, [one for one in others if one.code is code]))
    if facts.next_task is None and counts.required > counts.required_done:
        held = [f"{one.task.title} ({one.task.id}): {one.why}" for one in facts.held]
        found.append(
            problem_check(
                "everything-blocked",
                f"no task is ready: {one_line(facts.left, limit=400) or _joined_messages(held)}",
                "resolve what blocks them, or plan again: ralph replan",
            )
        )
    return found


def check_attempts(attempts: Mapping[str, int], config: Config, where: str) -> list[CheckResult]:
    """Tasks that failed too often in earlier runs; ``where`` is the file that counts them."""
    limit = config.attempts.limit
    stuck = [f"{task} ({count})" for task, count in attempts.items() if count >= limit > 0]
    if not stuck:
        return []
    message = f"set aside after {limit} attempts or more: {_joined_messages(stuck)}"
    remedy = f"retry one with ralph reset-task ID, or all of them by removing {where}"
    return [warning_check("attempts", message, remedy)]


def _marker(path: str, facts: PlanFacts, config: Config) -> list[CheckResult]:
    counts, marker = facts.counts, config.gate.marker
    if not (config.gate.rule is GateRule.MARKER and counts.marker):
        return []
    n_open = counts.required - counts.required_done
    if n_open == 0:
        message = f"{path} contains {marker}, and nothing is open: a run ends at once with 0"
        remedy = "if work is left, add tasks and remove that line"
        return [warning_check("marker-at-start", message, remedy)]
    message = f"{path} contains {marker} with {count_of(n_open, 'required task')} open"
    remedy = "remove that line: it only counts for a run once it was removed and added again"
    return [warning_check("marker-at-start", message, remedy)]


def _grouped(code: CheckCode, remarks: Sequence[LintRemark]) -> CheckResult:
    first = remarks[0].message
    if code in _ABOUT:
        what, remedy = _ABOUT[code]
        named = list(dict.fromkeys(one.task or one.message for one in remarks))
        return warning_check(str(code), f"{what}: {_joined_messages(named)}", remedy)
    what, _, remedy = first.partition("; ")
    more = f"; {count_of(len(remarks) - 1, 'other')} like it" if len(remarks) > 1 else ""
    return warning_check(
        str(code), f"{one_line(what, limit=400)}{more}", remedy or "list them: ralph plan"
    )


def _joined_messages(messages: Sequence[str]) -> str:
    more = (
        f" and {len(messages) - MAX_SHOWN_REMARKS} more"
        if len(messages) > MAX_SHOWN_REMARKS
        else ""
    )
    return "; ".join(one_line(one, limit=160) for one in messages[:MAX_SHOWN_REMARKS]) + more
