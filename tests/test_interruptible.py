"""Ctrl-C while a line is being written: the handler must not enter the buffer that is in use."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, sys, threading
from stiffarm.cli.progress import interruptible
for k in range(150):
    with interruptible() as stop:
        threading.Timer(0.0005 * (k % 7), os.kill, (os.getpid(), signal.SIGINT)).start()
        while not stop():
            print("best so far", file=sys.stderr, flush=True)
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a POSIX signal")
def test_an_interrupt_may_come_in_the_middle_of_a_line() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-600:]
    assert done.stdout == "done\n"
