"""The published cases as runnable ones, each printed number beside ours."""
