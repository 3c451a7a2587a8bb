"""How the interpreter divides its time in a service."""

import gc
import sys

_SWITCH_S = 0.001
_YOUNG = 20_000


def tune() -> None:
    """For a process of several threads that makes many short-lived values.

    A thread that has something to do waits a millisecond at most for the others, not five. The
    collector looks less often for garbage in cycles, of which there is little, and never through
    what has been loaded by now.
    """
    sys.setswitchinterval(_SWITCH_S)
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
