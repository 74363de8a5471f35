"""``python -m stiffarm`` is the command ``stiffarm``."""

from stiffarm.cli.main import run

if __name__ == "__main__":
    run()
