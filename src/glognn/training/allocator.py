"""How freed memory goes back to the system, where memory is tight: a process then holds what its tensors take."""

from __future__ import annotations

import ctypes

LARGE = 2**20
"""Blocks from this size on are the system's again when they are freed."""
_M_MMAP_THRESHOLD = -3


def give_back_large_blocks() -> bool:
    """What is freed now, and large blocks from now on in this process; false where the C library is not GNU's.

    By itself it keeps freed blocks, of up to 32 MiB, for later: a GCN of width 512 on 12,000 nodes held 880 to 1,040 MB
    in place of 600, GCNII of width 256, whose blocks are of 2 MiB, 245 in place of 150 beside the graph. Taking them
    anew costs time, up to half of an epoch's, so it is done only where there is need.
    """
    try:
        library = ctypes.CDLL(None)
        taken = library.mallopt(_M_MMAP_THRESHOLD, LARGE) == 1
        library.malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        return False
    return bool(taken)
