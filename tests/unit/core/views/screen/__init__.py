"""The full screen: tasks, meters, iterations, card, headline, running tool."""
