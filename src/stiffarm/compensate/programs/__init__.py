"""Programs of others, corrected in place: their points are read, solved and written back, every other byte is kept."""
