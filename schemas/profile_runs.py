"""Generated runs of docs/profiles/: what a terminal shows of a recorded run, and its endings.

They come from the histories, which the real engine wrote, so the page shows nothing that a run
would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path

from ralph_ls.core.loop.fold import apply, fold
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.run_end import next_step, summary_lines
from ralph_ls.core.views.text.summary import header_lines
from ralph_ls.protocol.config.config import LogForm, ProfileName
from ralph_ls.protocol.run.events import Event, RunEnded, RunStarted, UnknownEvent
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.run.journal import read_journal
from tests.histories import profiles


def run_parts(root: Path) -> dict[str, dict[str, str]]:
    """The parts of each profile's page: the run that completes, and the table of its endings."""
    folder = root / "tests" / "histories"
    pages: dict[str, dict[str, str]] = {}
    for profile in ProfileName:
        names = profiles.ENDINGS[profile]
        complete = _read(folder, names[EndReason.COMPLETE])
        pages[f"profiles/{profile.value}.md"] = {
            f"run-{profile.value}": "\n".join(["```text", *_terminal(complete), "```"]),
            f"endings-{profile.value}": "\n".join(_endings(folder, profile)),
        }
    pages["profiles/spec.md"]["modes-spec"] = "\n\n".join(
        "\n".join([play.shows, "", "```text", *_terminal(_read(folder, name)), "```"])
        for name, play in profiles.MORE.items()
    )
    return pages


def _terminal(events: Sequence[Event]) -> Iterator[str]:
    """What ``ralph run`` writes into a pipe, without what the agent itself prints."""
    for event in events:
        if isinstance(event, RunStarted):
            yield from (f"▸ {text}" for text in header_lines(apply(RunState(), event)))
        elif (line := event_line(event, zone=UTC)) is not None:
            yield f"▸ {line.text}"
    state = fold(events)
    yield ""
    yield from summary_lines(state, _summary_of(state))
    if (step := next_step(state)) is not None:
        yield f"Next:        {step}"


def _summary_of(state: RunState) -> str:
    is_outside = state.config.logs.form is LogForm.JSONL
    return "/state/runs/…/summary.csv" if is_outside else f"{state.config.paths.logs}/summary.csv"


def _endings(folder: Path, profile: ProfileName) -> Iterator[str]:
    yield "| code | ending | what happened | what the run reports | iterations |"
    yield "| --- | --- | --- | --- | --- |"
    for ending, name in profiles.ENDINGS[profile].items():
        state = fold(_read(folder, name))
        end = next(event for event in _read(folder, name) if isinstance(event, RunEnded))
        shows = profiles.shown_by(profile, ending)
        said = end.message.replace("|", "\\|").replace("<", "&lt;")
        yield f"| {end.exit_code} | {ending.value} | {shows} | {said} | {state.iteration} |"


def _read(folder: Path, name: str) -> list[Event]:
    journal = read_journal(folder / f"{name}.jsonl")
    return [event for event in journal.events if not isinstance(event, UnknownEvent)]
