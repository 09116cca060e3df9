"""The project itself: packaging, documents, and rules that the source must follow."""
