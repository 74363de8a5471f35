"""Use of an estimate: predict where the tool will be, and command it so that it is where it was wished."""

from stiffarm.calling import make_callable

make_callable(__name__)
