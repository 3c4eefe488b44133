"""What can be done with a vault, a module for each topic, and `Recollect`, which offers it."""

from recollect.engine.recollect import Recollect

__all__ = ["Recollect"]
