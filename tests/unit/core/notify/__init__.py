"""Tests of what notifications are about, when they are sent, and who may answer."""
