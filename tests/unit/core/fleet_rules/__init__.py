"""Rules of a fleet: references between repositories, which tasks may start, notices."""
