"""Tests of the command line, in this process unless a terminal or a locale is the point."""
