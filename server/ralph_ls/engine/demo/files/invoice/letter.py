"""The invoice as the customer reads it."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from invoice.lines import Line, cost
from invoice.money import show


def letter(lines: Sequence[Line], discount: Decimal, rate: Decimal) -> str:
    """Write one row for each line: the text on the left, the cost on the right."""
    rows = [f"{line.text:<24}{show(cost(line)):>12}" for line in lines]
    return "\n".join(rows)
