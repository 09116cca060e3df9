"""Evidence of progress, churn and ownership of changes."""
