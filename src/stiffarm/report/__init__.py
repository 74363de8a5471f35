"""Pictures and pages: every result can be looked at before it is read."""
