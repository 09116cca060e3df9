"""Every rule that a prompt must hold, line by line, in every template (docs/rules.md#prompts).

A row is a rule, a column is a template; what a profile words otherwise is in the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from ralph_ls.core.agent.output_parser import parse_text
from ralph_ls.core.prompt.template import (
    LOOP,
    MODES,
    PLACEHOLDER,
    TOOLS,
    PromptContext,
    render,
    template_name,
    values_of,
)
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.project.prompt_texts import built_in_texts

SPEC, FIXPLAN, STORIES, BEADS, ISSUE = ProfileName

PLANS = {
    SPEC: "IMPLEMENTATION_PLAN.md",
    FIXPLAN: "@fix_plan.md",
    STORIES: "ralph/tasks.json",
    BEADS: "bd",
    ISSUE: "issue.md",
}


def context_of(profile: ProfileName, mode: Mode, *, skip_review: bool = False) -> PromptContext:
    return PromptContext(
        iteration=3,
        max_iterations=20,
        profile=profile,
        mode=mode,
        plan_path=PLANS[profile],
        decide_path=".ralph/decide.txt",
        blocked_path=".ralph/blocked.txt",
        progress_path="ralph/progress.txt" if profile is STORIES else "PROGRESS.md",
        task="Write the letter",
        task_id="US-7",
        request="Letters get lost" if profile is ISSUE else "",
        skip_review=skip_review,
    )


CONTEXTS = {
    template_name(context): context
    for context in (
        context_of(profile, mode, skip_review=skip_review)
        for profile in ProfileName
        for mode in MODES[profile]
        for skip_review in (False, True)
    )
}
"""By the name of the template."""

ANY = tuple(CONTEXTS)
PLANNING = tuple(name for name in ANY if name.endswith("-plan"))
REVIEWING = ("stories-review",)
QUOTING = (*PLANNING, *REVIEWING)
"""Templates that quote the rules of those who build and do not ask to keep them."""
BUILDING = tuple(name for name in ANY if name not in QUOTING)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One line that a prompt has to hold."""

    line: str
    instead: Mapping[ProfileName, str] = field(default_factory=dict)
    """How a profile words it otherwise."""
    where: tuple[str, ...] = ANY
    quoted: tuple[str, ...] = ()
    """Templates in which it is quoted, as a rule for others."""

    def line_in(self, name: str) -> str:
        line = self.instead.get(CONTEXTS[name].profile, self.line)
        return f"> {line}" if name in self.quoted else line


def told(line: str, **more: str) -> Rule:
    """A rule of those who build, which everybody knows; ``more`` by the profile's name."""
    instead = {ProfileName(name): text for name, text in more.items()}
    return Rule(line=line, instead=instead, quoted=QUOTING)


RULES = {
    # One task an iteration, and out (docs/rules.md#prompts).
    "one-then-stop": Rule(
        line="Do one task, then stop.",
        instead={
            BEADS: (
                "Do one issue of `bd`, then stop. The issues in `bd` are the plan, and nothing "
                "else is."
            ),
            ISSUE: "Do what the request asks for, or the next part of it, then stop.",
        },
        where=("spec-build", "fixplan-build", "beads-build", "issue-build"),
    ),
    "one-story-then-stop": Rule(
        line="Implement one story, then stop. Another iteration reviews it.",
        where=("stories-implement",),
    ),
    # Where to look, the answer first (docs/rules.md#prompts).
    "step-1": Rule(line="## 1. Look first"),
    "answer-first": Rule(
        line="- If `.ralph/decide.txt` exists, read it before anything else. The text below `## "
        "Answer` is the user's decision: act on it, then delete the file. Without an answer, "
        "leave the file as it is, and never answer it yourself."
    ),
    "look": Rule(
        line="- Read `@fix_plan.md`, the specifications in `specs/` if there are any, and "
        "`git log -5`.",
        instead={
            SPEC: "- Read `IMPLEMENTATION_PLAN.md`, the specifications in `specs/` if there are "
            "any, and `git log -5`.",
            STORIES: "- Read `ralph/tasks.json`, the requirements in `ralph/prd.md`, the notes of "
            "earlier iterations in `ralph/progress.txt` if it exists, and `git log -5`.",
            BEADS: "- Read the issue with `bd show <id> --json`: its description, its acceptance "
            "criteria, its notes and what it depends on. See with `bd ready --json` what else is "
            "ready, and read `git log -5`.",
            ISSUE: "- Read the request above to its end, with the files that it names, the "
            "specifications in `specs/` if there are any, and `git log -5`.",
        },
        where=(*BUILDING, *REVIEWING),
    ),
    "search-first": Rule(
        line="- Search the code base before you write anything: what you need may already exist.",
        where=(*BUILDING, *REVIEWING),
    ),
    "study-the-code": Rule(
        line="- Study the code base: what exists, and what only seems to. Search before you "
        "decide that something is missing.",
        where=PLANNING,
    ),
    # S, Task Selection Criteria, all six (docs/rules.md#prompts).
    "select-1-highest-priority": told(
        "- Take the task named above. Where none is named, take the highest priority task that "
        "you can complete.",
        issue="- Of what the request asks for and is still missing, take the highest priority "
        "task that you can complete.",
    ),
    "select-2-read-carefully": told(
        "- Read the plan carefully for dependencies and notes before you begin.",
        issue="- Read the request carefully for dependencies and notes before you begin.",
    ),
    "select-3-unblock": told("- Prefer a task that unblocks other work."),
    "select-4-break-down": told(
        "- If a task seems unclear or too large, break it down first, in `@fix_plan.md`, and take "
        "the first part.",
        spec="- If a task seems unclear or too large, break it down first, in "
        "`IMPLEMENTATION_PLAN.md`, and take the first part.",
        stories="- If a task seems unclear or too large, break it down first: add its parts to "
        "`ralph/tasks.json` as new stories (`passes` false, `reviewStatus` null, `reviewCount` "
        "0), and take the first part.",
        beads="- If a task seems unclear or too large, break it down first: `bd create` for each "
        "part, `bd dep add` for what it waits for, and take the first part.",
        issue="- If a part of the request seems too large, break it down first, and do the piece "
        "that the others need; if it seems unclear, ask, as described below.",
    ),
    "select-5-reason": told("- Say in the commit message why this task was the one to take."),
    "select-6-blocked": told(
        "- If you fail at a task after several attempts, mark it `[BLOCKED]` in the plan, with "
        "`Blocked by:` and `Needs:` below it, then move on to the next task.",
        stories="- If you fail at a task after several attempts, write into its `notes` what "
        "blocks it and what it needs, then move on to the next task.",
        beads="- If you fail at a task after several attempts, say with `bd update <id> --notes` "
        "what blocks it, create an issue for the blocker, then move on to the next task.",
        issue="- If you fail at a part after several attempts, say in the report that it is "
        "blocked, by what, and what it needs, then move on to the next part.",
    ),
    # S, PROMPT_build (docs/rules.md#prompts), and I, Testing Guidelines (docs/rules.md#prompts).
    "no-placeholders": told("- Implement the task completely: no placeholders, no stubs."),
    "affected-tests": told("- Run the tests of the code that you touched, and fix what you broke."),
    "tests-20-percent": told(
        "- Spend at most 20 % of your effort on tests. PRIORITIZE: Implementation > Documentation "
        "> Tests."
    ),
    "tests-new-only": told(
        "- Only write tests for NEW functionality. Do NOT refactor existing tests unless they are "
        "broken."
    ),
    "agents-file": Rule(
        line="- Keep AGENTS.md operational only: how to build, run and test. No status reports, "
        "no history."
    ),
    # Separation of powers (docs/rules.md#guard).
    "own-part": Rule(line="## 4. Keep to your part"),
    "never": Rule(
        line="- Change neither the loop's settings nor its prompts nor its validation script. "
        "Forbidden changes are reverted."
    ),
    "may": Rule(
        line="- You may add tasks, re-order, split and re-prioritize them, mark them as blocked, "
        "move what is finished, and fix specifications that contradict each other or the "
        "code.",
        instead={
            STORIES: "- You may add stories and dependencies, write notes, and update "
            "descriptions.",
            BEADS: "- You may create issues for work that you discover, add dependencies, set the "
            "status (open, in progress, closed), add notes, update descriptions, and close with "
            "evidence.",
            ISSUE: "- You may do what the request asks for, and what that requires.",
        },
        where=BUILDING,
    ),
    "may-not": Rule(
        line="- You may not drop an open task without splitting it, or change its acceptance "
        "criteria.",
        instead={
            STORIES: "- You may not delete a story, drop a dependency, change a priority, or touch "
            "acceptance criteria: that is for planning alone.",
            BEADS: "- You may not remove a dependency, change a priority or an issue's type, "
            "delete an issue, or touch acceptance criteria: that is for planning alone.",
            ISSUE: "- You may not reduce the request, or read into it what it does not say.",
        },
        where=(*BUILDING, *REVIEWING),
    ),
    "planning-may": Rule(
        line="- In an existing plan, keep what is done, what is blocked and what still applies; "
        "never drop an open task that the specifications still require, and never change its "
        "criteria.",
        instead={
            STORIES: "- Planning alone may change priorities and acceptance criteria, drop "
            "dependencies, and remove stories that are no longer needed. Say in the "
            "commit message why.",
            BEADS: "- Planning alone may remove dependencies, change priorities and acceptance "
            "criteria, delete or archive issues that are no longer needed, and restructure "
            "epics. Say in a note why.",
        },
        where=PLANNING,
    ),
    "planning-builds-nothing": Rule(
        line="- Implement nothing, and spend nothing on tests: later iterations do.", where=PLANNING
    ),
    "planning-one-iteration": Rule(
        line="- One task is what one iteration can finish, with its tests. Split what is larger.",
        where=PLANNING,
    ),
    "planning-criteria": Rule(
        line='- For each task, name a command that must pass when it is done. "Works correctly" '
        "is not a criterion.",
        where=PLANNING,
    ),
    "criteria-are-fixed": Rule(
        line="- Write the acceptance criteria now, each with its command: iterations that build "
        "only verify them, and cannot change them.",
        where=("stories-plan", "beads-plan"),
    ),
    "planning-reviews-stuck": Rule(
        line="- Go through the issues that are stuck (a note that begins with `STUCK:`), in "
        "progress for long, blocked, or in a cycle. For each adjust its priority, add or remove "
        "dependencies, split it into smaller ones, or mark it as blocked until something outside "
        "is there.",
        where=("beads-plan",),
    ),
    # Mode rules: what becomes of the task.
    "tick": Rule(
        line="- Tick the task in `@fix_plan.md` only when it is really done. Never remove an open "
        "task.",
        where=("fixplan-build",),
    ),
    "to-progress": Rule(
        line="- When the task is really done, move it from `IMPLEMENTATION_PLAN.md` to the top of "
        "`PROGRESS.md`: ticked, below a heading with today's date, in the words that it had, with "
        "a line for what was done. Never remove an open task.",
        where=("spec-build",),
    ),
    "project-complete": Rule(
        line="- Give the signal that completes the run, named below, only when no task is left, "
        "all specifications are met, all tests pass and the documentation is written.",
        where=("spec-build",),
    ),
    "specs-implemented": Rule(
        line="- When every task of a specification in `specs/` is done and the tests pass, say so "
        "in its front matter (`status: implemented`) and in `specs/README.md`, with the date.",
        where=("spec-build", "fixplan-build"),
    ),
    "add-gaps": Rule(
        line="- Write bugs and gaps that you find into `@fix_plan.md` as tasks, including those "
        "that have nothing to do with yours.",
        instead={
            SPEC: "- Write bugs that you find into `IMPLEMENTATION_PLAN.md` below `## Issues "
            "Discovered`, as `- [BUG] <what>` with `Discovered during: <task>`, `Severity:` "
            "and `Error:` below it, and gaps as tasks, including those that have nothing to "
            "do with yours.",
            STORIES: "- Write bugs and gaps that you find into `ralph/tasks.json` as new stories, "
            "including those that have nothing to do with yours.",
            BEADS: "- Create an issue for each bug and gap that you find, also for those that have "
            "nothing to do with yours.",
            ISSUE: "- Name bugs and gaps that you find in your answer, including those that have "
            "nothing to do with the request.",
        },
        where=(*BUILDING, *REVIEWING),
    ),
    "clean-plan": Rule(
        line="- Keep `IMPLEMENTATION_PLAN.md` clean: move finished tasks that are still there "
        "to `PROGRESS.md` too.",
        where=("spec-build",),
    ),
    "implement-hands-over": Rule(
        line="- When the story is really done, set its `reviewStatus` from null to `needs_review`, "
        "of this story and of no other. Leave `passes` and `reviewCount` as they are: the review "
        "sets them.",
        where=("stories-implement",),
    ),
    "skip-review-passes": Rule(
        line="- When every acceptance criterion of the story is met, set its `passes` to true, of "
        "this story and of no other. Leave `reviewStatus` and `reviewCount` as they are.",
        where=("stories-implement-skip-review",),
    ),
    "review-counts": Rule(line="- Add 1 to the story's `reviewCount`.", where=REVIEWING),
    "review-approves": Rule(
        line="- If it meets every acceptance criterion, set `reviewStatus` to `approved` and "
        "`passes` to true.",
        where=REVIEWING,
    ),
    "review-asks": Rule(
        line="- If not, set `reviewStatus` to `changes_requested`, and write into "
        "`reviewFeedback` what has to change. Leave `passes` false.",
        where=REVIEWING,
    ),
    "review-cap": Rule(
        line="- If that makes its `reviewCount` 5, approve it whatever you found, and begin "
        "`reviewFeedback` with `[AUTO-APPROVED AT CAP]`, then what is left.",
        where=REVIEWING,
    ),
    "review-fix-clears": Rule(
        line="- When all of the feedback is dealt with, set `reviewStatus` of this story back to "
        "`needs_review` and clear `reviewFeedback`. Leave `passes` and `reviewCount` as they are.",
        where=("stories-review-fix",),
    ),
    "halts-leave-the-review": Rule(
        line="- If you end with BLOCKED or DECIDE, leave `reviewStatus` and `reviewCount` of the "
        "story as they were.",
        where=tuple(name for name in ANY if name.startswith("stories") and name not in PLANNING),
    ),
    "claim": Rule(line="- Take the issue with `bd update <id> --claim`.", where=("beads-build",)),
    "close-only-when-all": Rule(
        line="- Only close when ALL acceptance criteria are met. Run the command of each, and "
        "write each with its command and exit code into the reason:",
        where=("beads-build",),
    ),
    "close-1": Rule(line='bd close <id> --reason "', where=("beads-build",)),
    "close-2": Rule(line="Acceptance criteria verified:", where=("beads-build",)),
    "close-3": Rule(line="- [x] <criterion> (<command> - exit 0)", where=("beads-build",)),
    "close-cites-the-command": Rule(
        line="- Where a criterion names a command, cite that command with all its arguments; one "
        "that selects less verifies nothing.",
        where=("beads-build",),
    ),
    "no-pull-request": Rule(
        line="- Push nothing and open no pull request: `PR_READY` signals the loop, which does "
        "both.",
        where=("issue-build",),
    ),
    # Commit format (docs/rules.md#commits).
    "step-6": Rule(line="## 6. Commit and signal"),
    "commit-one": Rule(
        line="- Make one commit for one task, with everything that belongs to it, and leave "
        "nothing uncommitted."
    ),
    "commit-form": Rule(
        line="- Begin its message with `ralph: <what was done>`; after a blank line come bullets "
        "with details, what changed, and the state of the tests."
    ),
    # Promises (docs/rules.md#prompts).
    "decide": Rule(
        line="- `<promise>DECIDE:question</promise>` when the user must choose between "
        "alternatives: name them, and the reasons for each."
    ),
    "blocked": Rule(
        line="- `<promise>BLOCKED:reason</promise>` when something is missing that you cannot "
        "provide: say what, and where it is needed."
    ),
    "empty-is-none": Rule(line="An empty question or reason does not count."),
    "hard-rule": Rule(
        line="- Do not use BLOCKED/DECIDE to avoid difficult tasks — these are for genuine "
        "blockers only. Exhaust all alternatives first."
    ),
    "promise-alone": Rule(
        line="If only the user can help, put exactly one of these on a separate line before the "
        "status block:"
    ),
    # The status block, with when STATUS and when EXIT_SIGNAL (docs/rules.md#prompts).
    "report": Rule(line="### Status Reporting (CRITICAL)"),
    "report-must": Rule(
        line="At the END of your answer you MUST include this block, filled in truthfully, as the "
        "very last thing:"
    ),
    "block-begins": Rule(line="---RALPH_STATUS---", instead={ISSUE: "---CLARITY_STATUS---"}),
    "block-status": Rule(
        line="STATUS: IN_PROGRESS | COMPLETE | BLOCKED",
        instead={ISSUE: "STATUS: IN_PROGRESS | COMPLETE | NEEDS_CLARIFICATION | BLOCKED"},
    ),
    "block-ends": Rule(line="---END_RALPH_STATUS---", instead={ISSUE: "---END_CLARITY_STATUS---"}),
    "when-status": Rule(line="When to use each STATUS:"),
    "when-in-progress": Rule(line="- IN_PROGRESS: when you made progress, and work is left."),
    "when-complete": Rule(
        line="- COMPLETE: when everything in the plan is done, and the tests pass.",
        instead={
            ISSUE: "- COMPLETE: when all requirements are implemented, the tests pass, and a pull "
            "request could be made."
        },
    ),
    "when-blocked": Rule(
        line="- BLOCKED: when you cannot continue without the user or something from outside.",
        instead={
            ISSUE: "- BLOCKED: when you cannot proceed: a dependency, a permission or the like is "
            "missing."
        },
    ),
    "when-clarification": Rule(
        line="- NEEDS_CLARIFICATION: when the requirements are unclear, and only the author of "
        "the request can clarify them.",
        where=("issue-build",),
    ),
    "when-exit-signal": Rule(line="When to set EXIT_SIGNAL to true:"),
    "exit-signal-1": Rule(
        line="- Only when nothing at all is left to do; then say so in plain words as well, such "
        'as "all tasks are complete".',
        instead={ISSUE: "- If STATUS is COMPLETE and the pull request is ready."},
    ),
    "exit-signal-2": Rule(
        line="- Never while a task is open, and never with BLOCKED: for that there is the promise "
        "above.",
        instead={
            ISSUE: "- If STATUS is NEEDS_CLARIFICATION: you need an answer to continue. Set "
            "CLARIFICATION_NEEDED too, and write every question into "
            "CLARIFICATION_QUESTIONS."
        },
    ),
    "exit-signal-3": Rule(
        line="- If STATUS is BLOCKED: you cannot continue without help from outside.",
        where=("issue-build",),
    ),
    "what-completes": Rule(
        line="What completes the whole run is this. Give that signal only when no task is open.",
        instead={
            ISSUE: "What completes the whole run is this. Give that signal only when nothing is "
            "left to do."
        },
    ),
    "what-completes-it": Rule(line="EXIT_SIGNAL true"),
    # I, Exit Scenarios, all six.
    "scenarios": Rule(line="### Exit Scenarios"),
    "scenario-1": Rule(
        line="1. Successful completion: if all tasks are done, EXIT_SIGNAL is true."
    ),
    "scenario-2": Rule(
        line="2. Test-only loop: if you implemented nothing and only tested, EXIT_SIGNAL is "
        "false; the loop continues with a warning."
    ),
    "scenario-3": Rule(
        line="3. Stuck on an error: if the same error comes in iteration after iteration, report "
        "it as it is; after five the circuit breaker opens and the loop stops by itself."
    ),
    "scenario-4": Rule(
        line="4. No work remaining: if all specifications are met, EXIT_SIGNAL is true."
    ),
    "scenario-5": Rule(
        line="5. Making progress: if work was done and work is left, EXIT_SIGNAL is false; the "
        "loop continues."
    ),
    "scenario-6": Rule(line="6. Blocked: if the user is needed, STATUS is BLOCKED."),
    # I, What NOT to Do, all five.
    "do-not-1": Rule(line="- Do NOT continue with busy work when EXIT_SIGNAL should be true."),
    "do-not-2": Rule(line="- Do NOT run tests repeatedly without implementing new features."),
    "do-not-3": Rule(line="- Do NOT refactor code that is already working."),
    "do-not-4": Rule(line="- Do NOT add features not in specifications."),
    "do-not-5": Rule(line="- Do NOT forget the status block."),
}


PROMPTS = {name: render(context, built_in_texts()) for name, context in CONTEXTS.items()}


LINES = {name: prompt.splitlines() for name, prompt in PROMPTS.items()}


@pytest.mark.parametrize("rule", RULES)
def test_a_template_holds_a_rule_once_where_it_belongs_and_nowhere_else(rule: str) -> None:
    times = {name: lines.count(RULES[rule].line_in(name)) for name, lines in LINES.items()}
    assert times == {name: 1 if name in RULES[rule].where else 0 for name in ANY}


RALPH_FIELDS = (
    "STATUS",
    "TASKS_COMPLETED_THIS_LOOP",
    "FILES_MODIFIED",
    "TESTS_STATUS",
    "WORK_TYPE",
    "EXIT_SIGNAL",
    "RECOMMENDATION",
)
CLARITY_FIELDS = (
    "STATUS",
    "EXIT_SIGNAL",
    "FILES_MODIFIED",
    "PR_READY",
    "CLARIFICATION_NEEDED",
    "CLARIFICATION_QUESTIONS",
    "WORK_SUMMARY",
    "RECOMMENDATION",
)


@pytest.mark.parametrize("template", ANY)
def test_the_block_has_its_fields_in_their_order(template: str) -> None:
    context = CONTEXTS[template]
    is_issue = context.profile is ISSUE
    kind, fields = ("CLARITY", CLARITY_FIELDS) if is_issue else ("RALPH", RALPH_FIELDS)
    _, _, rest = PROMPTS[template].partition(f"---{kind}_STATUS---\n")
    block = rest.partition(f"\n---END_{kind}_STATUS---")[0]
    assert tuple(line.partition(":")[0] for line in block.splitlines()) == fields


@pytest.mark.parametrize("template", ANY)
def test_the_steps_are_six_in_every_template_but_for_what_they_are_called(template: str) -> None:
    assert re.findall(r"^## (\d)\. ", PROMPTS[template], re.MULTILINE) == list("123456")


@pytest.mark.parametrize("template", ANY)
def test_the_five_facts_of_an_iteration_are_reported_in_every_template(template: str) -> None:
    wanted = {"ITERATION", "TASK", "ANSWER", "RECOMMENDATION", "NOTE"}
    opening = built_in_texts().pieces["opening"]
    assert {match[2] for match in PLACEHOLDER.finditer(opening)} >= wanted
    assert "{{> opening}}" in built_in_texts().templates[template].splitlines()


def test_every_template_and_piece_is_used() -> None:
    texts = built_in_texts()
    assert set(texts.templates) == set(ANY)
    found = "\n".join([*texts.templates.values(), *texts.pieces.values()])
    used = {match[2] for match in PLACEHOLDER.finditer(found) if match[1]}
    assert {name.partition(".")[0] for name in texts.pieces} == used
    profiles = {name.partition(".")[2] for name in texts.pieces}
    profiles = {name.removesuffix(TOOLS).removesuffix(".") for name in profiles}
    assert profiles <= {"", LOOP, *(profile.value for profile in ProfileName)}


@pytest.mark.parametrize("template", ANY)
def test_no_template_asks_for_a_commit_where_the_loop_commits(template: str) -> None:
    prompt = render(replace(CONTEXTS[template], loop_commits=True), built_in_texts())
    assert [line for line in prompt.splitlines() if "ommit" in line and _asks_to_commit(line)] == []
    if "Prefer a task that unblocks" in prompt:
        assert "- Say in `WORK_SUMMARY` why this task was the one to take." in prompt
    assert "- Leave the commit to the loop: when you stop, it commits" in prompt
    assert "`WORK_SUMMARY: <what you did, and why" in prompt


def _asks_to_commit(line: str) -> bool:
    asking = ("Make one commit", "Commit ", "Begin its message", "commit message", "Write `Commit")
    return any(one in line for one in asking)


@pytest.mark.parametrize(
    ("loop_commits", "line"),
    [
        (True, "- Leave the line `Commit: <hash>` below your entry in `PROGRESS.md` to the loop"),
        (False, "- Write `Commit: <hash>` below each entry of `PROGRESS.md` that has none yet"),
    ],
)
def test_the_log_of_finished_tasks_gets_hashes_in_either_case(
    loop_commits: bool,
    line: str,
) -> None:
    context = replace(CONTEXTS["spec-build"], loop_commits=loop_commits)
    assert line in render(context, built_in_texts())


@pytest.mark.parametrize("name", sorted(built_in_texts().pieces))
def test_a_separate_wording_is_beside_the_common_one(name: str) -> None:
    """The user's own template may ask for a piece in any profile."""
    common, _, profile = name.partition(".")
    assert not profile or common in built_in_texts().pieces


@pytest.mark.parametrize("template", ANY)
def test_nothing_is_left_to_fill_and_no_line_is_there_twice(template: str) -> None:
    text = PROMPTS[template]
    assert "{{" not in text
    assert "\n\n\n" not in text
    rules = [line for line in text.splitlines() if re.match(r"(> )?- (?!\[)", line)]
    assert len(rules) == len(set(rules))


SIGNALS = """\
All tasks are complete, nothing is left to do.

<promise>COMPLETE</promise>

<promise>DECIDE:a or b?</promise>

---RALPH_STATUS---
STATUS: COMPLETE
EXIT_SIGNAL: true
---END_RALPH_STATUS---

---CLARITY_STATUS---
STATUS: COMPLETE
---END_CLARITY_STATUS---

Error: no such file
"""


@pytest.mark.parametrize("template", ANY)
@pytest.mark.parametrize("text", ["", SIGNALS], ids=["plain", "signals"])
@pytest.mark.parametrize(
    "completion",
    [
        "EXIT_SIGNAL true and 2 completion indicators",
        "PROJECT_COMPLETE on its own line in the plan",
        "<promise>COMPLETE</promise> on its own line and every task done",
        "an empty queue before an iteration",
        "STATUS COMPLETE or PR_READY true",
    ],
)
def test_a_prompt_is_never_read_back_as_what_an_agent_says(
    template: str, text: str, completion: str
) -> None:
    """An agent that repeats its prompt has reported, promised and completed nothing."""
    context = replace(CONTEXTS[template], completion=completion)
    if text:
        context = replace(
            context,
            notes=(text,),
            question=text,
            answer=text,
            recommendation=text,
            request=text if context.request else "",
        )
    reading = parse_text(render(context, built_in_texts()))
    assert reading.report is None
    assert reading.promises == ()
    assert reading.completion == ()


def test_the_values_are_no_longer_than_they_are_used() -> None:
    texts = built_in_texts()
    found = "\n".join([*texts.templates.values(), *texts.pieces.values()])
    used = {match[2] for match in PLACEHOLDER.finditer(found) if not match[1]}
    for_people_only = {"BLOCKED_FILE", "COMPLETE_WORD", "TASK_ID"}
    for_people_only |= {"RALPH_ITERATION", "RALPH_MAX_ITERATIONS"}
    assert set(values_of(CONTEXTS["spec-build"])) - used == for_people_only


@pytest.mark.parametrize("template", ANY)
@pytest.mark.parametrize("loop_commits", [True, False])
def test_an_agent_with_tools_is_asked_to_report_by_them(template: str, loop_commits: bool) -> None:
    context = replace(CONTEXTS[template], loop_commits=loop_commits)
    texts = built_in_texts()
    prompt = render(replace(context, has_tools=True), texts)
    assert len(prompt) < len(render(context, texts))
    for tool in ("report_status", "ask_decision", "report_blocked", "complete_task", "remember"):
        assert f"`{tool}`" in prompt
    assert values_of(context)["COMPLETION"] in prompt
    # The block for agents that have none is no report by itself.
    reading = parse_text(prompt)
    assert (reading.report, reading.promises) == (None, ())
    assert "status block" not in prompt
    assert "WORK_SUMMARY" not in prompt


def test_what_earlier_agents_noted_is_quoted() -> None:
    context = replace(CONTEXTS["fixplan-build"], discoveries=("The cache\nis old", "b"))
    prompt = render(context, built_in_texts())
    assert "## Earlier iterations noted\n\n> The cache\n> is old\n\n> b\n" in prompt
