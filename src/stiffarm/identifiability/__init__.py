"""Which parameters a robot, its loads and its markers can tell apart, and the reductions that follow."""
