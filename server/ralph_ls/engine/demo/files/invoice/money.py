"""Rounding and writing amounts of money."""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal

CENT = Decimal("0.01")


def to_cents(amount: Decimal) -> Decimal:
    """Round an amount to whole cents."""
    return amount.quantize(CENT, rounding=ROUND_DOWN)


def show(amount: Decimal) -> str:
    """Write an amount with two places."""
    return f"{to_cents(amount):.2f}"
