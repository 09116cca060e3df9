"""Reports: metrics, doctor, archive."""
