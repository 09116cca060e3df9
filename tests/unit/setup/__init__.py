"""Tests of core/setup."""
