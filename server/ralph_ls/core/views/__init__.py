"""View models: what a run, a plan and its files look like, in neutral words.

Imports point one way: document > panel > text > model, and report > text > model. No terminal,
no editor, no LSP type; nothing here decides anything about the loop.
"""
