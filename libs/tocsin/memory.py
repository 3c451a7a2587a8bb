"""Memory that is free, and still held."""

import ctypes
import gc


def give_back() -> None:
    """Return to the system what has been freed. Who has read a whole log has moved it through
    queues and batches; the allocator would keep the room that these took for good.

    Takes up to a tenth of a second; the allocator does nothing where the C library is not
    glibc.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    gc.collect()
    if trim is not None:
        trim(0)
