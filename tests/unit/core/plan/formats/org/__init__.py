"""Org: headings with keywords and boxes are read and edited."""
