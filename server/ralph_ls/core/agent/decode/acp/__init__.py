"""The messages of the Agent Client Protocol, as our own client writes them down."""
