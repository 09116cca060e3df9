"""What is wrong with what stories say, although the file can be read (SPEC §8, Closing).

- ``criteria-vague``: a criterion of a story that does not pass, of which nobody could say when it
  is met. The rules are those of markdown plans.
- ``close-without-evidence``: a story passes, and its notes say that a criterion was not verified,
  or that its command failed; or they give a reason such as ``Verified: done`` that names nothing;
  or no reviewer has approved it, and it came through at the cap of its reviews.

A story that passes and says nothing of it is left alone: the review cycle is its evidence. It must
never know a file.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.plan.beads.criteria import read_evidence
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
        for remark in (_closed(story, lines) if story.passes else _vague(story, lines))
    ]
    return tuple(sorted(found, key=lambda one: (one.place.line, one.place.start)))


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
        if one.exit_code not in {0, None}:
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
