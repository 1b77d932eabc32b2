"""`voi show`: draw how one target is written."""
