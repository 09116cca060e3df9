"""The generated parts of docs/loop-states.md: what moves a run, drawn and in full.

What leads where comes from ``core.loop.transitions``; only the words on the arrows are here. A
new arrow without words, and words without an arrow, are errors: nothing is drawn that is not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph_ls.core.loop.inputs import Input
from ralph_ls.core.loop.machine.transitions import INPUTS, LIVE_PHASES, TAKE_UP, TRANSITIONS
from ralph_ls.protocol.run.values import Phase
from schemas.docstrings import plain

Answer = frozenset[Phase] | str
"""Where an input may lead, or why it is ignored."""

Arrow = tuple[Phase, Phase]

ROWS: Mapping[Phase, Mapping[type[Input], Answer]] = {Phase.STARTING: TAKE_UP, **TRANSITIONS}
"""Every phase, with its answer to each input; an engine's first input finds the run starting."""

WORDS: Mapping[Arrow, str] = {
    (Phase.STARTING, Phase.PREPARING): "nothing is in the way",
    (Phase.STARTING, Phase.PARKED): "an open question or blocker was found",
    (Phase.STARTING, Phase.WAITING): "as many calls in a minute as may be",
    (Phase.STARTING, Phase.SETTLING): "a killed engine left an iteration open",
    (Phase.PREPARING, Phase.RUNNING): "an iteration begins",
    (Phase.PREPARING, Phase.WAITING): "as many calls in a minute as may be",
    (Phase.PREPARING, Phase.PAUSED): "ralph pause",
    (Phase.PREPARING, Phase.PARKED): "every open task is blocked",
    (Phase.RUNNING, Phase.SETTLING): "the agent is gone",
    (Phase.RUNNING, Phase.STOPPING): "ralph stop, Ctrl-C, TERM",
    (Phase.RUNNING, Phase.PARKED): "the agent asks by tool, and waits for you",
    (Phase.SETTLING, Phase.RUNNING): "the agent came to nothing, one retry",
    (Phase.SETTLING, Phase.PREPARING): "the run goes on",
    (Phase.SETTLING, Phase.WAITING): "a cooldown, a usage limit, an overload, too many calls",
    (Phase.SETTLING, Phase.PAUSED): "ralph pause",
    (Phase.SETTLING, Phase.PARKED): "DECIDE, BLOCKED, stuck or a review, and it may wait",
    (Phase.SETTLING, Phase.STOPPING): "ralph stop, Ctrl-C, TERM",
    (Phase.WAITING, Phase.PREPARING): "its time has come",
    (Phase.WAITING, Phase.PAUSED): "ralph pause",
    (Phase.PAUSED, Phase.PREPARING): "ralph resume",
    (Phase.PAUSED, Phase.WAITING): "ralph resume, too many calls",
    (Phase.PARKED, Phase.PREPARING): "answered, resolved, reset or approved",
    (Phase.PARKED, Phase.SETTLING): "resolved, and a lost iteration is still open",
    (Phase.PARKED, Phase.RUNNING): "answered, or too late, and the agent still works",
    (Phase.PARKED, Phase.STOPPING): "ralph stop or Ctrl-C while the agent waits",
    (Phase.PARKED, Phase.WAITING): "the same, too many calls",
    (Phase.PARKED, Phase.PAUSED): "a pause was asked for before",
}
"""Why a run goes from one phase to another; every one leads to ``ended``, which needs no words."""


def phase_parts() -> dict[str, str]:
    """The parts of the page that are about phases, by their names; ValueError as said above."""
    return {"phases": _diagram(), "inputs": _inputs(), "transitions": _table()}


def arrows() -> set[Arrow]:
    """From each phase to each other one that some input may lead to."""
    return {
        (before, after)
        for before, row in ROWS.items()
        for answer in row.values()
        if not isinstance(answer, str)
        for after in answer
        if after is not before
    }


def _diagram() -> str:
    found = arrows()
    unended = {phase for phase in ROWS if phase is not Phase.ENDED} - {
        before for before, after in found if after is Phase.ENDED
    }
    inner = {arrow for arrow in found if arrow[1] is not Phase.ENDED}
    for before, after in sorted(inner ^ WORDS.keys()):
        raise ValueError(f"schemas/loop_states.py: words and arrow differ: {before} → {after}")
    if unended:
        raise ValueError(f"schemas/loop_states.py: no end from {', '.join(sorted(unended))}")
    order = [Phase.STARTING, *LIVE_PHASES]
    drawn = [
        f"        {before.value} --> {after.value} : {WORDS[before, after]}"
        for before in order
        for after in order
        if (before, after) in inner
    ]
    return "\n".join(
        [
            "```mermaid",
            "stateDiagram-v2",
            '    state "an engine holds the work tree" as live {',
            *drawn,
            "    }",
            "    [*] --> starting : ralph run",
            "    live --> ended : from every phase",
            "    ended --> starting : ralph run --resume, unless complete",
            "    ended --> [*]",
            "```",
        ]
    )


def _inputs() -> str:
    rows = [f"| `{kind.__name__}` | {plain(kind.__doc__ or '')} |" for kind in INPUTS]
    return "\n".join(["| input | what it says |", "|---|---|", *rows])


def _table() -> str:
    lines = ["| phase | input | what may come of it |", "|---|---|---|"]
    for phase, row in ROWS.items():
        for number, (answer, kinds) in enumerate(_grouped(row)):
            named = ", ".join(f"`{kind.__name__}`" for kind in kinds)
            first = f"`{phase.value}`" if number == 0 else ""
            lines.append(f"| {first} | {named} | {_in_words(phase, answer)} |")
    return "\n".join(lines)


def _grouped(row: Mapping[type[Input], Answer]) -> Iterator[tuple[Answer, list[type[Input]]]]:
    """Inputs with the same answer together; those that move something first."""
    answers = dict.fromkeys(row[kind] for kind in INPUTS)
    for answer in sorted(answers, key=lambda each: isinstance(each, str)):
        yield answer, [kind for kind in INPUTS if row[kind] == answer]


def _in_words(phase: Phase, answer: Answer) -> str:
    if isinstance(answer, str):
        return f"ignored, because {answer}"
    stays = ["stays"] if phase in answer else []
    others = [f"`{after.value}`" for after in LIVE_PHASES if after in answer - {phase}]
    return ", ".join(stays + others)
