from __future__ import annotations

import unittest
from decimal import Decimal

from invoice.money import show, to_cents


class ToCentsTest(unittest.TestCase):
    def test_whole_cents_stay(self) -> None:
        self.assertEqual(to_cents(Decimal("1.25")), Decimal("1.25"))

    def test_less_than_half_a_cent_is_rounded_down(self) -> None:
        self.assertEqual(to_cents(Decimal("0.124")), Decimal("0.12"))

    def test_half_a_cent_is_rounded_up(self) -> None:
        self.assertEqual(to_cents(Decimal("0.125")), Decimal("0.13"))


class ShowTest(unittest.TestCase):
    def test_two_places_are_always_written(self) -> None:
        self.assertEqual(show(Decimal("7")), "7.00")


if __name__ == "__main__":
    unittest.main()
