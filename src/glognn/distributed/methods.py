"""How nodes get their owners. Imports no torch.

========== ==========================================================================================
contiguous equal numbers of nodes, in the order they have
balanced   blocks in the order they have, with equal numbers of nodes and entries together
metis      few edges between parts (Karypis and Kumar, 1998), by the package pymetis where it is there
========== ==========================================================================================
"""

from __future__ import annotations

METHODS = ("contiguous", "balanced", "metis")
