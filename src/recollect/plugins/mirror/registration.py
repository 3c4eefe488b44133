"""The entry point of the mirror: see `recollect.plugin.mirrors.MirrorType`."""

from recollect.plugins.mirror.folder import write_folder
from recollect.plugins.mirror.run import mirror

__all__ = ("mirror", "write_folder")
