"""Editing a plan in place: each edit changes what it means to, and keeps every other byte."""
