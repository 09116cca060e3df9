"""Tests of the core: pure, without processes and without clocks. They are measured."""
