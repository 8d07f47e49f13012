"""What was made from tensors, remembered until they change."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

Made = TypeVar("Made")


class LastMade(Generic[Made]):
    """Remembers what was made last, for as long as it is asked for with the same tensors, unchanged.

    The tensors are not kept alive. Copies and pickles start without a memory.
    """

    def __init__(self) -> None:
        self._key: tuple[object, ...] = ()
        self._tensors: tuple[weakref.ref[Tensor] | None, ...] = ()
        self._made: Made | None = None

    def get(self, tensors: tuple[Tensor | None, ...], key: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """What ``make`` gives for these tensors; ``key`` is all else that it depends on."""
        key = (*key, *(None if tensor is None else tensor._version for tensor in tensors))
        known = tuple(None if ref is None else ref() for ref in self._tensors)
        same = len(known) == len(tensors) and all(a is b for a, b in zip(known, tensors, strict=True))
        if self._made is None or key != self._key or not same:
            self._made = make()
            self._key = key
            self._tensors = tuple(None if tensor is None else weakref.ref(tensor) for tensor in tensors)
        return self._made

    def __deepcopy__(self, memo: object) -> LastMade[Made]:
        return LastMade()

    def __reduce__(self) -> tuple[type[LastMade[Made]], tuple[()]]:
        return LastMade, ()
