"""Evidence for stories: checks of their notes, the commands to run, and the recorded result.

The checks (docs/rules.md#verification):

- ``criteria-vague``: a criterion of a story that does not pass cannot be checked. The rules are
  those of Markdown plans.
- ``criteria-missing``: a story has no acceptance criteria, or only empty ones.
- ``close-without-evidence``: a story passes, and its notes are empty, unless no story of the file
  has notes; or they say that a criterion was not verified, or that its command failed; or they give
  a reason such as ``Verified: done`` that names nothing; or no reviewer has approved it, and it
  passed by reaching the review cap.

A story is verified against its criteria and the file's ``verifyCommands`` when an iteration marks
it as passed or as ready for review. The evidence lines are written into its ``notes``. A refuted
story returns to the review cycle like one with requested changes; without reviews it is open
again. Runs nothing and knows no file.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator

from ralph_ls.core.plan.formats.json_text import JsonNode, LineIndex, value_of
from ralph_ls.core.plan.formats.stories import edits
from ralph_ls.core.plan.formats.stories.review_cycle import AT_CAP
from ralph_ls.core.plan.formats.stories.story_file import (
    FEEDBACK,
    PASSES,
    STATUS,
    ReviewStatus,
    Story,
    StoryFile,
    read_stories,
)
from ralph_ls.core.plan.lint.criteria import close_reason_in, is_empty_reason, is_vague
from ralph_ls.core.plan.lint.remarks import CheckCode, LineSpan, LintRemark, display_title
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.core.plan.verification.criteria import (
    SUCCESS,
    command_of,
    is_wanted,
    read_evidence,
    write_evidence,
)
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskClosing,
    TaskVerification,
    checks_of,
    describe_check_failures,
    evidence_of,
    runnable_commands,
)
from ralph_ls.protocol.run.values import TaskRef


def check_stories(stories: StoryFile) -> tuple[LintRemark, ...]:
    """Check a file of stories that was read; by line. Total."""
    lines = LineIndex(stories.text)
    has_notes = any("notes" in story.fields for story in stories.stories)
    found = [
        remark
        for story in stories.stories
        for remark in (
            *_without_criteria(story, lines),
            *(_closed(story, lines, has_notes=has_notes) if story.passes else _vague(story, lines)),
        )
    ]
    return tuple(sorted(found, key=lambda one: (one.place.line, one.place.start)))


def _without_criteria(story: Story, lines: LineIndex) -> Iterator[LintRemark]:
    """The state of missing criteria; other types than a list are reported by the parser."""
    member = story.fields.get("acceptanceCriteria")
    value = None if member is None else value_of(member.node)
    if story.criteria or not (value is None or isinstance(value, list)):
        return
    place = _brace_of(story) if member is None else member.node
    message = (
        f"{display_title(story.title)} does not say when it is done; add acceptanceCriteria that "
        "can be seen or run"
    )
    yield _remark(CheckCode.CRITERIA_MISSING, message, story, place, lines)


def _brace_of(story: Story) -> JsonNode:
    return JsonNode(story.node.start, story.node.start + 1)


def _vague(story: Story, lines: LineIndex) -> Iterator[LintRemark]:
    member = story.fields.get("acceptanceCriteria")
    for item in () if member is None else member.node.items or ():
        if isinstance(item.scalar, str) and is_vague(criterion := fold_whitespace(item.scalar)):
            message = (
                f"the criterion {display_title(criterion)} cannot be checked; name something that "
                "can be seen or run, such as a command and its output"
            )
            yield _remark(CheckCode.CRITERIA_VAGUE, message, story, item, lines)


def _closed(story: Story, lines: LineIndex, *, has_notes: bool) -> Iterator[LintRemark]:
    """One remark at the notes, and one at the feedback."""
    notes, feedback = story.fields.get("notes"), story.fields.get(FEEDBACK)
    text = "" if notes is None else value_of(notes.node)
    if has_notes and not (text and str(text).strip()):
        place = _brace_of(story) if notes is None else notes.node
        message = (
            f"{display_title(story.title)} passes, but its notes do not say how it was verified"
        )
        yield _remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, story, place, lines)
    if notes is not None and (why := _doubt(value_of(notes.node))):
        message = (
            f"{display_title(story.title)} passes, but {why}; check it, or set passes to false"
        )
        yield _remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, story, notes.node, lines)
    if feedback is not None and story.feedback.startswith(AT_CAP):
        message = (
            f"{display_title(story.title)} passes without a reviewer's approval, because it "
            "reached the review limit; check what the last review asked for"
        )
        yield _remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, story, feedback.node, lines)


def _doubt(notes: object) -> str:
    """The objection to a passed story in its notes; empty where there is none."""
    text = notes if isinstance(notes, str) else ""
    # Of a criterion that was verified again the last line counts.
    for one in {line.criterion: line for line in read_evidence(text)}.values():
        if not one.is_ticked:
            return f"its notes say that {display_title(one.criterion)} was not verified"
        asked = command_of(one.criterion)
        wanted = SUCCESS if asked is None else asked.exit_code
        if one.exit_code is not None and not is_wanted(one.exit_code, wanted):
            return f"its notes say that the command for {display_title(one.criterion)} failed"
    reasons = [
        reason for line in text.splitlines() if (reason := close_reason_in(line)) is not None
    ]
    if reasons and is_empty_reason(reasons[-1]):
        named = f"only {display_title(reasons[-1])}" if reasons[-1] else "nothing"
        return f"{named} in its notes says how it was verified"
    return ""


def _remark(
    code: CheckCode, message: str, story: Story, node: JsonNode, lines: LineIndex
) -> LintRemark:
    number, (first, last) = lines.place(node.start, node.end)
    place = LineSpan(line=number, start=first, end=last)
    return LintRemark(code=code, message=message, place=place, task=story.id)


def story_closings(
    before: str, after: str, done: Collection[str], *, on_path: Container[str] = ()
) -> tuple[TaskClosing, ...]:
    """The commands to run for the stories that were marked as passed or for review."""
    known = read_stories(before).stories.by_id()
    now = read_stories(after).stories
    found = (
        TaskClosing(
            task=TaskRef(id=escape_surrogates(story.id), title=escape_surrogates(story.title)),
            checks=checks_of(story.criteria, now.verify_commands, on_path=on_path),
        )
        for story in now.stories
        if story.id in done and _is_closed(story) and not _is_same(known.get(story.id), story)
    )
    return tuple(one for one in found if one.checks)


def story_commands(text: str, *, on_path: Container[str] = ()) -> tuple[str, ...]:
    """The commands that the file's stories and the file itself name, each once."""
    stories = read_stories(text).stories
    criteria = [one for story in stories.stories for one in story.criteria]
    return runnable_commands(checks_of(criteria, stories.verify_commands, on_path=on_path))


def write_story_verification(
    text: str, verification: TaskVerification, *, skip_review: bool
) -> str:
    """The file with the outcome of a story's checks. Raises RalphError like every edit."""
    story_id = verification.task.id
    if verification.failed:
        return _refuted(
            text, story_id, describe_check_failures(verification), skip_review=skip_review
        )
    if not verification.ok:
        return text
    member = edits.find_story(text, story_id).fields.get("notes")
    old = None if member is None else value_of(member.node)
    notes = old if isinstance(old, str) else ""
    lines = write_evidence(evidence_of(verification))
    if lines in notes:
        return text
    return edits.set_fields(text, story_id, {"notes": f"{notes}\n{lines}" if notes else lines})


def _refuted(text: str, story_id: str, why: str, *, skip_review: bool) -> str:
    story = edits.find_story(text, story_id)
    if skip_review or story.status is None:
        return edits.reset_story(text, story_id, why)
    values = {PASSES: False, STATUS: ReviewStatus.CHANGES_REQUESTED.value, FEEDBACK: why}
    return edits.set_fields(text, story_id, values)


def _is_closed(story: Story) -> bool:
    return story.passes or story.status is ReviewStatus.NEEDS_REVIEW


def _is_same(known: Story | None, story: Story) -> bool:
    return known is not None and (known.passes, known.status) == (story.passes, story.status)
