"""The panel of one work tree: run status, card, facts, rows and the open question.

Builds the values of `protocol.panel`; a viewer draws them and decides nothing.
"""
