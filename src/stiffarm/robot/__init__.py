"""The robot as its file describes it: nouns, readers and writers, the library of real robots."""
