"""One file per effect: what turns a state and its load into a small twist of a virtual joint."""
