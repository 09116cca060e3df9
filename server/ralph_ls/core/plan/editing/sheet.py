"""A text as lines that come in or change places; each takes its own ending along.

What the lines mean is read elsewhere: here is only how they stand, and how a list's marks go on.
"""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.core.plan.editing.places import number_of, renumber, run_of, with_number
from ralph_ls.core.plan.editing.rewriting import ending_near, indent_of, lines_in
from ralph_ls.core.plan.lines import find_marks


@dataclass(frozen=True, slots=True)
class Place:
    """Where lines are put."""

    line: int
    """They stand before this line."""
    model: str
    """The line whose list they join; empty where there is none."""
    beside: int | None = None
    """Where that line stands."""
    is_before: bool = False
    """The model follows what is put here."""
    is_apart: bool = False
    """Blank lines part it from what is around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A text as lines; the BOM stays in front, whatever comes first."""

    bom: str
    lines: tuple[str, ...]
    endings: tuple[str, ...]
    """One for each line; the last one has none."""
    usual: str
    """The ending of the first line, for lines that come in."""

    @classmethod
    def of(cls, text: str) -> Sheet:
        """Take a text apart."""
        bom = "\ufeff" if text.startswith("\ufeff") else ""
        body = text.removeprefix(bom)
        found = lines_in(body)
        begins = [*(start for start, _ in found[1:]), len(body)]
        endings = (
            body[start + len(line) : end] for (start, line), end in zip(found, begins, strict=True)
        )
        return cls(
            bom=bom,
            lines=tuple(line for _, line in found),
            endings=tuple(endings),
            usual=ending_near(body, found, 0),
        )

    def insert(self, line: str, place: Place) -> str:
        """Put a line in; the numbers of its list go on from there."""
        near = self.endings[place.line - 1] if place.line else ""
        new = [(line, near or self.usual)]
        return self._put(self._pairs(), new, place.line, place)

    def relocate(self, first: int, end: int, place: Place, *, box: str = "") -> str:
        """Move the lines from ``first`` up to ``end``, indented and marked as where they go.

        A blank line that parts them on both sides goes along. ``box`` is put before the text.
        """
        pairs = self._pairs()
        if first <= place.line <= end and not place.is_apart:
            return self._join(pairs)
        run = run_of(self.lines, first)
        is_same_list = place.beside in run
        marked = _marked_like(self.lines[first:end], place, box)
        block = list(zip(marked, self.endings[first:end], strict=True))
        if is_same_list:
            block[0] = pairs[first]
        if self._is_blank(first - 1) and self._is_blank(end) and not place.is_apart:
            blank = pairs[first - 1]
            block = [*block, blank] if place.is_before else [blank, *block]
            first -= 1
        at = place.line if place.line <= first else place.line - (end - first)
        del pairs[first:end]
        numbers = [number_of(self.lines[nth]) for nth in run] if is_same_list else []
        return self._put(pairs, block, at, place, numbers=numbers)

    def _pairs(self) -> list[tuple[str, str]]:
        return list(zip(self.lines, self.endings, strict=True))

    def _is_blank(self, line: int) -> bool:
        """Say whether there is a blank line, before the end of the text."""
        return 0 <= line < len(self.lines) - 1 and not self.lines[line].strip()

    def _put(
        self,
        pairs: list[tuple[str, str]],
        new: list[tuple[str, str]],
        at: int,
        place: Place,
        *,
        numbers: list[int | None] | None = None,
    ) -> str:
        blank = ("", self.usual)
        if place.is_apart and at > 0 and pairs[at - 1][0].strip():
            new = [blank, *new]
        if place.is_apart and at < len(pairs) and pairs[at][0].strip():
            new = [*new, blank]
        pairs[at:at] = new
        lines = [line for line, _ in pairs]
        begin = next(nth for nth in range(at, len(lines)) if lines[nth].strip())
        if numbers:
            for nth, number in zip(run_of(lines, begin), numbers, strict=False):
                lines[nth] = lines[nth] if number is None else with_number(lines[nth], number)
        else:
            renumber(lines, begin)
        return self._join([(line, ending) for line, (_, ending) in zip(lines, pairs, strict=True)])

    def _join(self, pairs: list[tuple[str, str]]) -> str:
        """Put the text together again; only its last line has no ending."""
        whole = "".join(line + (ending or self.usual) for line, ending in pairs[:-1])
        return self.bom + whole + pairs[-1][0]


def _marked_like(block: tuple[str, ...], place: Place, box: str) -> list[str]:
    """Indent and mark an item as the one that it comes to stand beside."""
    own, model = find_marks(block[0]), find_marks(place.model)
    if own is None or model is None:
        return list(block)
    line = place.model
    marker = line[model.starts[-1] : model.contents[-1]]
    old = block[0][own.starts[-1] : own.contents[-1]]
    number = number_of(line)
    if number is not None:
        marker = with_number(marker, number + (not place.is_before))
    elif marker.strip() == old.strip():
        marker = old
    before, after = indent_of(block[0]), indent_of(line)
    text = box + block[0][own.contents[-1] :]
    first = after + block[0][len(before) : own.starts[-1]] + marker + text
    below = [
        after + one.removeprefix(before) if one.startswith(before) and one.strip() else one
        for one in block[1:]
    ]
    return [first, *below]
