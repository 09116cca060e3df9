"""Reading a plan: its lines, blocks, items and headings, and what task each of them is."""
