"""The arm in three dimensions: what is shown where, and a thin layer that shows it in a browser."""
