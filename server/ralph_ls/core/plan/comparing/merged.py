"""A merged plan as it is written: its lines, and the notes on what two writers disagree about.

It must never know how the texts were compared.
"""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.core.plan.comparing.merge_lines import goes_on, note_below, split_ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One line of which both want something different."""

    line: int
    """From 0, in the merged text."""
    mine: str | None
    """Without its ending; None where it was removed."""
    theirs: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The plan with the changes of both."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


class MergedLines:
    """The merged text as it grows."""

    def __init__(self, ending: str) -> None:
        self._ending = ending
        self._lines: list[str] = []
        self._conflicts: list[Conflict] = []
        self._note: tuple[str, str] | None = None
        """A note that waits for the end of what it stands below, and the line it is about."""

    def line(self, line: str) -> None:
        """Write a line of one of the versions."""
        content = split_ending(line)[0]
        if self._note is not None and not goes_on(self._note[0], content):
            self._write_note()
        self._append(line)

    def conflict(self, mine: str | None, theirs: str | None) -> None:
        """Both sides of the line that was written last."""
        self._conflicts.append(Conflict(line=len(self._lines) - 1, mine=mine, theirs=theirs))
        shown = split_ending(self._lines[-1])[0]
        other = theirs if mine is not None else None
        note = note_below(shown, other) or other
        if note is None:
            return
        if self._note is not None:
            shown, first = self._note
            note = f"{first}{self._ending}{note}"
        self._note = (shown, note)

    def finish(self) -> Merged:
        is_open = bool(self._lines) and not split_ending(self._lines[-1])[1]
        self._write_note()
        if is_open:
            self._lines[-1] = split_ending(self._lines[-1])[0]
        return Merged(text="".join(self._lines), conflicts=tuple(self._conflicts))

    def _write_note(self) -> None:
        """Write the note that waits, if one does."""
        waiting, self._note = self._note, None
        for line in () if waiting is None else waiting[1].split(self._ending):
            self._append(line + self._ending)

    def _append(self, line: str) -> None:
        if self._lines and not split_ending(self._lines[-1])[1]:
            self._lines[-1] += self._ending
        self._lines.append(line)
