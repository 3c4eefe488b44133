"""The operations on a vault, one module for each topic, and `Recollect`, which offers them."""

from recollect.engine.recollect import Recollect

__all__ = ["Recollect"]
