"""Use of an estimate: predict where the tool will be, and command it so that it is where it was wished."""
