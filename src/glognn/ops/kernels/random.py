"""Random bits of a value from its place and a seed: no state, so that a backward pass can draw them again."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def sixteen_bits(seed, place):
    """16 bits for each place, from a 64-bit seed by three rounds of the finaliser of MurmurHash3 (Appleby, 2008)."""
    mixed = place.to(tl.uint32) ^ seed.to(tl.uint32)
    mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6B
    mixed += (place >> 32).to(tl.uint32) * 0x9E3779B1 + (seed >> 32).to(tl.uint32)
    mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35
    mixed = (mixed ^ (mixed >> 15)) * 0x846CA68B
    return (mixed >> 16).to(tl.int32)
