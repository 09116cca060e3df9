"""One suite, run against what stands in for something and against the thing itself."""
