"""The client for programs in Python, against real servers and ones that break their promises."""
