"""Script of the demo agent: output at a readable pace, reports, a plan and five repairs.

Reports are a status block and, where needed, a promise (docs/rules.md#status-block). A proposed
plan is made of the lines of the description. Does not read or write files.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from dataclasses import dataclass, replace
from enum import Enum

PACE_VARIABLE = "RALPH_DEMO_PACE"
"""Seconds of pause after each spoken line; the tests set 0."""

DEFAULT_PACE_SECONDS = 0.15
LONGEST_PACE_SECONDS = 60.0


def print_paced(text: str) -> None:
    """Print a line (or a few that belong together) at once, then leave time to read it.

    Raises ``BrokenPipeError`` where the reader is gone.
    """
    print_at_once(text)
    wait(_pace_seconds())


def print_at_once(text: str) -> None:
    """Print lines at once, without a pause."""
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def wait(seconds: float) -> None:
    """Let ``seconds`` pass; zero or less returns at once."""
    if seconds > 0:
        threading.Event().wait(seconds)


def _pace_seconds() -> float:
    """The pause that the environment asks for; what is no usable number reads as the default."""
    try:
        seconds = float(os.environ.get(PACE_VARIABLE, DEFAULT_PACE_SECONDS))
    except ValueError:
        return DEFAULT_PACE_SECONDS
    return min(seconds, LONGEST_PACE_SECONDS) if math.isfinite(seconds) else DEFAULT_PACE_SECONDS


REPORT_DISCLAIMER = "This report comes from the scripted demo agent; no model was asked."


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOutcome:
    """Result of one iteration; numbers are of actual changes."""

    status: str
    """``IN_PROGRESS``, ``COMPLETE`` or ``BLOCKED``."""
    recommendation: str
    """One line."""
    n_tasks: int = 0
    """Tasks whose repair this iteration committed."""
    n_files: int = 0
    """Files that this iteration changed, the plan among them."""
    tests_status: str = "NOT_RUN"
    """``PASSING``, ``FAILING`` or ``NOT_RUN``: the last run of the suite."""
    exit_signal: bool = False
    closing_lines: tuple[str, ...] = ()
    """Lines in front of the report."""
    question: str = ""
    """What the user has to decide; the loop waits for the answer."""


def to_text(outcome: DemoOutcome) -> str:
    """The end of the agent's output; a blocked one carries the promise with the same reason."""
    recommendation = _one_line(outcome.recommendation)
    lines = list(outcome.closing_lines)
    if outcome.status == "BLOCKED":
        # Angle brackets in a title must not end the tag early.
        reason = recommendation.replace("<", "").replace(">", "")
        lines.append(f"<promise>BLOCKED:{reason}</promise>")
    if outcome.question:
        lines.append(f"<promise>DECIDE:{outcome.question}</promise>")
    lines += [
        REPORT_DISCLAIMER,
        "---RALPH_STATUS---",
        f"STATUS: {outcome.status}",
        f"TASKS_COMPLETED_THIS_LOOP: {outcome.n_tasks}",
        f"FILES_MODIFIED: {outcome.n_files}",
        f"TESTS_STATUS: {outcome.tests_status}",
        "WORK_TYPE: IMPLEMENTATION",
        f"EXIT_SIGNAL: {'true' if outcome.exit_signal else 'false'}",
        f"RECOMMENDATION: {recommendation}",
        "---END_RALPH_STATUS---",
    ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


MOST_CRITERIA = 8

PROPOSAL_DISCLAIMER = "These items come from the scripted demo agent; no model was asked."


def propose_items(description: str) -> str:
    """Its answer, in the form that the prompt asks for."""
    lines = [line.strip() for line in description.splitlines() if line.strip()]
    criteria = [found[1].strip() for line in lines if (found := _ITEM.match(line))]
    prose = [line.lstrip("# ") for line in lines if not _ITEM.match(line)]
    named = next((line for line in prose if not line.endswith(":")), "".join(prose[:1]))
    task = named.partition(". ")[0].rstrip(".: ") or "the task"
    checks = [f"- [ ] Make sure of this, with a test: {one}" for one in criteria[:MOST_CRITERIA]]
    return "\n".join(
        [
            PROPOSAL_DISCLAIMER,
            "",
            "## High Priority (P0)",
            "",
            f"- [ ] Write a test that fails until this is done: {task}",
            "  - The test fails today, for the right reason",
            f"- [ ] Do it: {task}",
            "  - The new test and all others pass",
            "",
            "## Standard (P1)",
            "",
            *(checks or ["- [ ] Cover wrong input and edge cases with tests"]),
            "",
            "## Nice to Have (P2)",
            "",
            "- [ ] Write down how it is used, with an example that was tried",
        ]
    )


_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)")


class EditState(Enum):
    """The state of one edit in a text."""

    OPEN = "open"
    MADE = "made"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleEdit:
    """One small replacement in one file."""

    file: str
    """Relative to the project, with slashes."""
    before: str
    after: str
    instead: str = ""
    """What the user may choose in place of ``after``."""

    @property
    def chosen_otherwise(self) -> SampleEdit:
        """The same edit with the other text."""
        return replace(self, after=self.instead, instead=self.after) if self.instead else self

    def state_in(self, text: str | None) -> EditState:
        """Whether the edit is still open in ``text``, already made, or neither is recognisable."""
        if text is None:
            return EditState.UNKNOWN
        # ``after`` may hold ``before`` within it, so that it is looked for first.
        if self.after in text or (self.instead and self.instead in text):
            return EditState.MADE
        return EditState.OPEN if text.count(self.before) == 1 else EditState.UNKNOWN

    def made_in(self, text: str) -> str:
        """The text with the edit made; unchanged unless it was open."""
        if self.state_in(text) is not EditState.OPEN:
            return text
        return text.replace(self.before, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRepair:
    """One task of the sample's plan, and how it is carried out."""

    title: str
    """As in the plan."""
    subject: str
    """The commit's subject, behind ``demo:``."""
    edits: tuple[SampleEdit, ...]
    tests: tuple[str, ...]
    """Tests that must pass afterwards."""
    is_studied_first: bool = False
    """Whether the agent first idles for two iterations, which shows the breaker."""
    question: str = ""
    """What the agent asks first where somebody can answer; (b) makes the edits otherwise."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edit.file for edit in self.edits))


_SUBTOTAL = SampleRepair(
    title="Subtotal: multiply each price by its quantity",
    subject="multiply each price by its quantity",
    edits=(
        SampleEdit(
            file="invoice/lines.py",
            before="    return line.price\n",
            after="    return line.price * line.quantity\n",
        ),
    ),
    tests=(
        "test_three_pieces_cost_three_times_the_price",
        "test_lines_add_up_with_their_quantities",
    ),
)

_TAX = SampleRepair(
    title="Tax: charge it after the discount, not before",
    subject="charge tax on what is left after the discount",
    edits=(
        SampleEdit(
            file="invoice/total.py",
            before="    return to_cents(subtotal(lines) * rate)\n",
            after="    return to_cents((subtotal(lines) - discount) * rate)\n",
        ),
    ),
    tests=("test_tax_is_charged_after_the_discount", "test_the_total_holds_discount_and_tax"),
)

_ROUNDING = SampleRepair(
    title="Rounding: round half a cent up",
    subject="round half a cent up",
    edits=(
        SampleEdit(
            file="invoice/money.py",
            before="from decimal import ROUND_DOWN, Decimal\n",
            after="from decimal import ROUND_HALF_UP, Decimal\n",
        ),
        SampleEdit(
            file="invoice/money.py",
            before="    return amount.quantize(CENT, rounding=ROUND_DOWN)\n",
            after="    return amount.quantize(CENT, rounding=ROUND_HALF_UP)\n",
        ),
    ),
    tests=("test_half_a_cent_is_rounded_up",),
    is_studied_first=True,
)

_THOUSANDS_TEST_ANCHOR = """\
    def test_two_places_are_always_written(self) -> None:
        self.assertEqual(show(Decimal("7")), "7.00")
"""

_THOUSANDS = SampleRepair(
    title="Amounts: write thousands with a comma",
    subject="write thousands with a comma",
    edits=(
        SampleEdit(
            file="tests/test_money.py",
            before=_THOUSANDS_TEST_ANCHOR,
            after=_THOUSANDS_TEST_ANCHOR
            + """
    def test_thousands_have_a_comma(self) -> None:
        self.assertEqual(show(Decimal("1234.5")), "1,234.50")
""",
        ),
        SampleEdit(
            file="invoice/money.py",
            before='''\
    """Write an amount with two places."""
    return f"{to_cents(amount):.2f}"
''',
            after='''\
    """Write an amount with two places and a comma for thousands."""
    return f"{to_cents(amount):,.2f}"
''',
        ),
    ),
    tests=("test_thousands_have_a_comma",),
)

LETTER_QUESTION = "What should the letter's last row be called? (a) To pay (b) Amount due"

_LETTER_TEST_ANCHOR = """\
        self.assertEqual(rows[1].split(), ["Bulb", "2.50"])
"""

_LETTER = SampleRepair(
    title="Letter: end with the amount to pay",
    subject="end the letter with the amount to pay",
    edits=(
        SampleEdit(
            file="tests/test_letter.py",
            before=_LETTER_TEST_ANCHOR,
            after=_LETTER_TEST_ANCHOR
            + """
    def test_the_last_row_is_the_amount_to_pay(self) -> None:
        rows = letter(LINES, NONE, RATE).splitlines()
        self.assertEqual(rows[-1].split(), ["To", "pay", "63.00"])
""",
            instead=_LETTER_TEST_ANCHOR
            + """
    def test_the_last_row_is_the_amount_to_pay(self) -> None:
        rows = letter(LINES, NONE, RATE).splitlines()
        self.assertEqual(rows[-1].split(), ["Amount", "due", "63.00"])
""",
        ),
        SampleEdit(
            file="invoice/letter.py",
            before="from invoice.money import show\n",
            after="from invoice.money import show\nfrom invoice.total import total\n",
        ),
        SampleEdit(
            file="invoice/letter.py",
            before='''\
    """Write one row for each line: the text on the left, the cost on the right."""
    rows = [f"{line.text:<24}{show(cost(line)):>12}" for line in lines]
    return "\\n".join(rows)
''',
            after='''\
    """Write one row for each line and a last one with the amount to pay."""
    rows = [f"{line.text:<24}{show(cost(line)):>12}" for line in lines]
    rows.append(f"{'To pay':<24}{show(total(lines, discount, rate)):>12}")
    return "\\n".join(rows)
''',
            instead='''\
    """Write one row for each line and a last one with the amount due."""
    rows = [f"{line.text:<24}{show(cost(line)):>12}" for line in lines]
    rows.append(f"{'Amount due':<24}{show(total(lines, discount, rate)):>12}")
    return "\\n".join(rows)
''',
        ),
    ),
    tests=("test_the_last_row_is_the_amount_to_pay",),
    question=LETTER_QUESTION,
)

REPAIRS: tuple[SampleRepair, ...] = (_SUBTOTAL, _TAX, _ROUNDING, _THOUSANDS, _LETTER)
"""In the plan's order. The first three leave the suite green, so that the breaker's limit of five
iterations with failing tests is never met: the two later tasks bring their own tests.

See docs/rules.md#breaker.
"""

FILES: tuple[str, ...] = tuple(dict.fromkeys(file for repair in REPAIRS for file in repair.files))
"""Every file that a repair may change."""


def repair_for(title: str) -> SampleRepair | None:
    """The repair of the task with this title, whatever the case and the spaces."""
    for repair in REPAIRS:
        if fold_title(repair.title) == fold_title(title):
            return repair
    return None


def fold_title(title: str) -> str:
    """A title for comparing: lower case, single spaces, no marks of emphasis or code."""
    return " ".join(title.replace("*", "").replace("`", "").casefold().split())
