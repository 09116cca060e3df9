"""Turns of every kind, and settings of every profile, for a run under chance.

A turn is drawn as a known one with a few traits more: few choices, so that runs grow long.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.inputs import AgentFinished, WorkJudged
from ralph_ls.core.loop.profiles import PROFILES, preset_of
from ralph_ls.protocol.config.config import Config, GateRule, OnHalt, OnValidateFail
from ralph_ls.protocol.config.tables import JudgeConfig, JudgeWhen
from ralph_ls.protocol.run.report import JudgeVerdict, RequestedChange, SessionSeen, Usage
from ralph_ls.protocol.run.values import Again
from tests.unit.core.loop import simulated_project
from tests.unit.core.loop.simulated_project import Turn, promise

TASKS = ("paint", "sand", "varnish")

REFUSES = WorkJudged(
    verdict=JudgeVerdict.CHANGES_REQUESTED,
    changes=(RequestedChange(file="a.py", reason="wrong"),),
    usage=Usage(input_tokens=40, output_tokens=2, cost_usd=0.1),
)

KNOWN_TURNS = [
    simulated_project.no_progress,
    simulated_project.progress,
    simulated_project.edits_only,
    simulated_project.claims_all,
    simulated_project.nothing_left,
    simulated_project.crash,
    simulated_project.silence,
    simulated_project.timeout,
    simulated_project.asks("sockets or polling?"),
    simulated_project.is_blocked("no key"),
    simulated_project.turn(files=1, commit=True, ticks=TASKS, marks=True),
    simulated_project.turn(ticks=TASKS[:1]),
    simulated_project.turn(FILES_MODIFIED=9, TASKS_COMPLETED_THIS_LOOP=9, PR_READY="true"),
    simulated_project.turn(STATUS="BLOCKED", RECOMMENDATION="get a key"),
    simulated_project.turn(STATUS="NEEDS_CLARIFICATION"),
    simulated_project.turn(fields=None, silent=True, limit=AccountLimit()),
    simulated_project.turn(files=1, fields=None, limit=AccountLimit()),
    simulated_project.turn(denied=("Bash",)),
    simulated_project.turn(errors=("error: a",), files=1, TESTS_STATUS="FAILING"),
    simulated_project.turn(files=1, reverts=True),
    simulated_project.turn(commit=True),
    simulated_project.turn(files=1, again=Again.OUTPUT),
    simulated_project.turn(files=1, again=Again.SAME),
    simulated_project.turn(files=1, commit=True, cosmetic=True),
    simulated_project.turn(files=1, session=SessionSeen(id="s1")),
    simulated_project.turn(FILES_MODIFIED=9, session=SessionSeen(id="s2", cost_usd=0.5)),
]
"""Whole turns, each at a separate point."""

TRAITS: list[tuple[str, Any]] = [
    ("files", 0),
    ("files", 1),
    ("commit", False),
    ("commit", True),
    ("ticks", TASKS),
    *(("ticks", (task,)) for task in TASKS),
    ("adds", TASKS[2:]),
    ("blocks", TASKS[:1]),
    ("fields", None),
    ("fields", {}),
    ("promises", (promise("complete"),)),
    ("promises", (promise("blocked", "no key"), promise("decide", "this or that?"))),
    ("words", ("done", "finished")),
    ("words", ("nothing-left",)),
    ("errors", ("error: a",)),
    ("errors", ("error: b", "error: a")),
    ("end", AgentFinished(exit_code=3, seconds=0.1)),
    ("end", AgentFinished(signal=9, timed_out=True, killed=True, seconds=9.0)),
    ("end", AgentFinished(signal=9, idle=True, killed=True, seconds=9.0)),
    ("silent", True),
    ("deletes_decide", False),
    ("validates", (True,)),
    ("validates", (False,)),
    ("verdict", REFUSES),
    ("verdict", REFUSES),
    ("verdict", WorkJudged(verdict=JudgeVerdict.CANNOT_TELL, reason="it failed")),
    ("is_closed", True),
    ("failure", "overloaded"),
    ("usage", Usage(input_tokens=300, output_tokens=20, cost_usd=0.5)),
    ("denied", ()),
    ("denied", ("Bash",)),
    ("limit", AccountLimit()),
    ("session", SessionSeen(id="s3")),
    ("question", "Which one?"),
    ("marks", True),
    ("marks", False),
    ("reverts", True),
    ("again", Again.EDITED),
    ("advanced", True),
    ("advanced", False),
    *(("STATUS", status) for status in ("COMPLETE", "BLOCKED", "NEEDS_CLARIFICATION")),
    ("EXIT_SIGNAL", "true"),
    ("EXIT_SIGNAL", "false"),
    ("TESTS_STATUS", "PASSING"),
    ("TESTS_STATUS", "FAILING"),
    ("WORK_TYPE", "TESTING"),
    ("FILES_MODIFIED", "4"),
    ("TASKS_COMPLETED_THIS_LOOP", "2"),
    ("PR_READY", "true"),
    ("CLARIFICATION_NEEDED", "true"),
    ("RECOMMENDATION", "get a key"),
]
"""What a turn may have besides; in upper case what its report says."""


def with_traits(turn: Turn, traits: list[tuple[str, Any]]) -> Turn:
    for name, value in traits:
        said = {**(turn.fields or {}), name: value}
        turn = replace(turn, **({"fields": said} if name.isupper() else {name: value}))
    return turn


turns = st.builds(
    with_traits, st.sampled_from(KNOWN_TURNS), st.lists(st.sampled_from(TRAITS), max_size=3)
)


def seldom(strategy: st.SearchStrategy[Any], *, otherwise: Any = None) -> st.SearchStrategy[Any]:
    """That, once in a while."""
    return st.integers(0, 7).flatmap(lambda chance: strategy if chance == 7 else st.just(otherwise))


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """A profile's settings, with its gate or another one, and some said otherwise."""
    chosen = preset_of(draw(st.sampled_from(list(PROFILES.values()))))
    rules = st.just(chosen.gate.rule) | st.sampled_from(list(GateRule))
    gate = chosen.gate.model_copy(update={"rule": draw(rules)})
    changes: dict[str, Any] = {
        "gate": gate,
        "on_halt": draw(st.sampled_from([OnHalt.WAIT, OnHalt.WAIT, OnHalt.EXIT])),
        "max_iterations": draw(st.none() | st.integers(4, 12)),
        "max_tokens": draw(seldom(st.just(1500))),
        "max_cost_usd": draw(seldom(st.just(3.0))),
        "max_duration": draw(seldom(st.just(600.0))),
        "min_iterations": draw(st.sampled_from([0, 0, 3])),
        "on_validate_fail": draw(st.sampled_from(OnValidateFail)),
        "judge": draw(
            st.sampled_from(
                [
                    JudgeConfig(),
                    JudgeConfig(when=JudgeWhen.TASK, max_rounds=2),
                    JudgeConfig(when=JudgeWhen.COMPLETION),
                ]
            )
        ),
        "cooldown": draw(st.sampled_from([0.0, 0.0, 1.5])),
        "session": chosen.session.model_copy(update={"resume": draw(st.booleans())}),
    }
    if draw(st.booleans()):
        limit, mark = draw(st.integers(1, 2)), draw(st.booleans())
        update = {"limit": limit, "mark": mark}
        changes["attempts"] = chosen.attempts.model_copy(update=update)
    return chosen.model_copy(update=changes)
