"""Everything that can be done with a vault, room by room, behind one door."""

from recollect.engine.door import Recollect

__all__ = ["Recollect"]
