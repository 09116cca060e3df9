"""What is wrong with what stories say, although the file can be read (SPEC §8, Closing).

- ``criteria-vague``: a criterion of a story that does not pass, of which nobody could say when it
  is met. The rules are those of markdown plans.
- ``criteria-missing``: a story has no acceptance criteria, or none that says anything.
- ``close-without-evidence``: a story passes, and its notes are empty; or they say that a criterion
  was not verified, or that its command failed; or they give a reason such as ``Verified: done``
  that names nothing; or no reviewer has approved it, and it came through at the cap of its reviews.

It must never know a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.plan.beads.criteria import SUCCESS, command_of, is_wanted, read_evidence
from ralph_ls.core.plan.checking.closing import reason_in, says_nothing
from ralph_ls.core.plan.checking.criteria import is_vague
from ralph_ls.core.plan.checking.remarks import CheckCode, Place, Remark, name_of
from ralph_ls.core.plan.stories.json_text import Node, value_of
from ralph_ls.core.plan.stories.model import FEEDBACK, Stories, Story
from ralph_ls.core.plan.stories.moves import AT_CAP
from ralph_ls.core.plan.stories.showing import TextLines
from ralph_ls.core.plan.titles import fold


def check(stories: Stories) -> tuple[Remark, ...]:
    """Check a file of stories that was read; by line. Total."""
    lines = TextLines(stories.text)
    found = [
        remark
        for story in stories.stories
        for remark in (
            *_without_criteria(story, lines),
            *(_closed(story, lines) if story.passes else _vague(story, lines)),
        )
    ]
    return tuple(sorted(found, key=lambda one: (one.place.line, one.place.start)))


def _without_criteria(story: Story, lines: TextLines) -> Iterator[Remark]:
    """What is there in place of criteria; of another kind than a list, reading has found it."""
    member = story.fields.get("acceptanceCriteria")
    value = None if member is None else value_of(member.node)
    if story.criteria or not (value is None or isinstance(value, list)):
        return
    place = _brace_of(story) if member is None else member.node
    message = (
        f"{name_of(story.title)} does not say when it is done; write acceptanceCriteria that can "
        "be run or seen"
    )
    yield _remark(CheckCode.CRITERIA_MISSING, message, story, place, lines)


def _brace_of(story: Story) -> Node:
    return Node(story.node.start, story.node.start + 1)


def _vague(story: Story, lines: TextLines) -> Iterator[Remark]:
    member = story.fields.get("acceptanceCriteria")
    for item in () if member is None else member.node.items or ():
        if isinstance(item.scalar, str) and is_vague(criterion := fold(item.scalar)):
            message = (
                f"the criterion {name_of(criterion)} cannot be checked; name what can be seen or "
                "run, such as a command and what it prints"
            )
            yield _remark(CheckCode.CRITERIA_VAGUE, message, story, item, lines)


def _closed(story: Story, lines: TextLines) -> Iterator[Remark]:
    """One remark at the notes, and one at the feedback."""
    notes, feedback = story.fields.get("notes"), story.fields.get(FEEDBACK)
    if notes is None or not (text := value_of(notes.node)) or not str(text).strip():
        place = _brace_of(story) if notes is None else notes.node
        message = f"{name_of(story.title)} passes, and its notes do not say how that was seen"
        yield _remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, story, place, lines)
    if notes is not None and (why := _doubt(value_of(notes.node))):
        message = f"{name_of(story.title)} passes, and {why}; look at it, or let it pass no more"
        yield _remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, story, notes.node, lines)
    if feedback is not None and story.feedback.startswith(AT_CAP):
        message = (
            f"{name_of(story.title)} passes, and no reviewer has approved it: it had as many "
            "reviews as it may have; look at what the last one asked for"
        )
        yield _remark(CheckCode.CLOSE_WITHOUT_EVIDENCE, message, story, feedback.node, lines)


def _doubt(notes: object) -> str:
    """What in the notes speaks against a story that passes; empty where nothing does."""
    text = notes if isinstance(notes, str) else ""
    # Of a criterion that was verified again the last line counts.
    for one in {line.criterion: line for line in read_evidence(text)}.values():
        if not one.is_ticked:
            return f"its notes say that {name_of(one.criterion)} was not verified"
        asked = command_of(one.criterion)
        wanted = SUCCESS if asked is None else asked.exit_code
        if one.exit_code is not None and not is_wanted(one.exit_code, wanted):
            return f"by its notes the command for {name_of(one.criterion)} failed"
    reasons = [reason for line in text.splitlines() if (reason := reason_in(line)) is not None]
    if reasons and says_nothing(reasons[-1]):
        told = f"only {name_of(reasons[-1])}" if reasons[-1] else "nothing"
        return f"{told} in its notes says how that was seen"
    return ""


def _remark(code: CheckCode, message: str, story: Story, node: Node, lines: TextLines) -> Remark:
    number, (first, last) = lines.place(node.start, node.end)
    place = Place(line=number, start=first, end=last)
    return Remark(code=code, message=message, place=place, task=story.id)
