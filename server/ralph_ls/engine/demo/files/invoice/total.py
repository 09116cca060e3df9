"""From the lines to the amount to pay."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from invoice.lines import Line, subtotal
from invoice.money import to_cents


def tax(lines: Sequence[Line], discount: Decimal, rate: Decimal) -> Decimal:
    """The tax on the lines; a rate of 0.20 is twenty percent."""
    return to_cents(subtotal(lines) * rate)


def total(lines: Sequence[Line], discount: Decimal, rate: Decimal) -> Decimal:
    """What the customer pays in the end."""
    return subtotal(lines) - discount + tax(lines, discount, rate)
