"""What the demo agent knows: the sample's five tasks, and the text that mends each.

Pure knowledge: nothing here reads or writes a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class EditState(Enum):
    """How a text stands towards one edit."""

    OPEN = "open"
    MADE = "made"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One small replacement in one file."""

    file: str
    """Relative to the project, with slashes."""
    before: str
    after: str

    def state_in(self, text: str | None) -> EditState:
        """Whether the edit is still open in ``text``, made already, or neither can be told."""
        if text is None:
            return EditState.UNKNOWN
        # ``after`` may hold ``before`` within it, so that it is looked for first.
        if self.after in text:
            return EditState.MADE
        return EditState.OPEN if text.count(self.before) == 1 else EditState.UNKNOWN

    def made_in(self, text: str) -> str:
        """The text with the edit made; unchanged unless it was open."""
        if self.state_in(text) is not EditState.OPEN:
            return text
        return text.replace(self.before, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """One task of the sample's plan, and how it is carried out."""

    title: str
    """As it stands in the plan."""
    subject: str
    """The commit's subject, behind ``demo:``."""
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
    """Tests that must pass afterwards."""
    is_studied_first: bool = False
    """Whether the agent only looks twice before it acts, so that a person sees the breaker."""

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(edit.file for edit in self.edits))


_SUBTOTAL = Repair(
    title="Subtotal: multiply each price by its quantity",
    subject="multiply each price by its quantity",
    edits=(
        Edit(
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

_TAX = Repair(
    title="Tax: charge it after the discount, not before",
    subject="charge tax on what is left after the discount",
    edits=(
        Edit(
            file="invoice/total.py",
            before="    return to_cents(subtotal(lines) * rate)\n",
            after="    return to_cents((subtotal(lines) - discount) * rate)\n",
        ),
    ),
    tests=("test_tax_is_charged_after_the_discount", "test_the_total_holds_discount_and_tax"),
)

_ROUNDING = Repair(
    title="Rounding: round half a cent up",
    subject="round half a cent up",
    edits=(
        Edit(
            file="invoice/money.py",
            before="from decimal import ROUND_DOWN, Decimal\n",
            after="from decimal import ROUND_HALF_UP, Decimal\n",
        ),
        Edit(
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

_THOUSANDS = Repair(
    title="Amounts: write thousands with a comma",
    subject="write thousands with a comma",
    edits=(
        Edit(
            file="tests/test_money.py",
            before=_THOUSANDS_TEST_ANCHOR,
            after=_THOUSANDS_TEST_ANCHOR
            + """
    def test_thousands_have_a_comma(self) -> None:
        self.assertEqual(show(Decimal("1234.5")), "1,234.50")
""",
        ),
        Edit(
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

_LETTER_TEST_ANCHOR = """\
        self.assertEqual(rows[1].split(), ["Bulb", "2.50"])
"""

_LETTER = Repair(
    title="Letter: end with the amount to pay",
    subject="end the letter with the amount to pay",
    edits=(
        Edit(
            file="tests/test_letter.py",
            before=_LETTER_TEST_ANCHOR,
            after=_LETTER_TEST_ANCHOR
            + """
    def test_the_last_row_is_the_amount_to_pay(self) -> None:
        rows = letter(LINES, NONE, RATE).splitlines()
        self.assertEqual(rows[-1].split(), ["To", "pay", "63.00"])
""",
        ),
        Edit(
            file="invoice/letter.py",
            before="from invoice.money import show\n",
            after="from invoice.money import show\nfrom invoice.total import total\n",
        ),
        Edit(
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
        ),
    ),
    tests=("test_the_last_row_is_the_amount_to_pay",),
)

REPAIRS: tuple[Repair, ...] = (_SUBTOTAL, _TAX, _ROUNDING, _THOUSANDS, _LETTER)
"""In the plan's order. The first three leave the suite green, so that the breaker's limit of five
iterations with failing tests (SPEC §6) is never met: the two later tasks bring their own tests."""

FILES: tuple[str, ...] = tuple(dict.fromkeys(file for repair in REPAIRS for file in repair.files))
"""Every file that a repair may change."""


def repair_for(title: str) -> Repair | None:
    """The repair of the task with this title, whatever the case and the spaces."""
    for repair in REPAIRS:
        if fold_title(repair.title) == fold_title(title):
            return repair
    return None


def fold_title(title: str) -> str:
    """A title for comparing: lower case, single spaces, no marks of emphasis or code."""
    return " ".join(title.replace("*", "").replace("`", "").casefold().split())
