"""Notifications that the server sends by itself: subscriptions to a run, and diagnostics.

Nothing here answers an editing request; that is a feature, or one of the ralph/ requests.
"""
