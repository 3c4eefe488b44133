"""The other vaults that a search spans and the collections behind one's own, opened when asked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.auth.capabilities import Caller
from recollect.context import Models
from recollect.settings import Settings
from recollect.vaults.known import HOME, project_vault, untrusted_vault, working_folder

if TYPE_CHECKING:
    from recollect.vaults.collections import Collections
    from recollect.vaults.federation import Federation


class OtherVaults:
    """What the settings and the working directory name beside the vault. `alone`: nothing."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        home: Path,
        own: Path,
        models: Models,
        *,
        alone: bool,
    ) -> None:
        self._settings = settings
        self.environment = environment
        self._home = home
        self._own = own
        self._models = models
        self._alone = alone
        self._guard = threading.RLock()  # so that several threads make one of each

    @property
    def federation(self) -> Federation | None:
        """The other vaults; None where there are none."""
        with self._guard:
            return self._federation

    @cached_property
    def _federation(self) -> Federation | None:
        start = working_folder()
        near = start is not None and project_vault(start) is not None
        if self._alone or not (self._settings.vaults or near):
            return None
        from recollect.vaults.federation import Federation  # noqa: PLC0415  start-up time

        return Federation(
            self._settings, self.environment, self._home, self._own, self._models, start
        )

    @property
    def collections(self) -> Collections | None:
        """The collections; None where there are none."""
        with self._guard:
            return self._collections

    @cached_property
    def _collections(self) -> Collections | None:
        if self._alone or not self._settings.collections:
            return None
        from recollect.vaults.collections import Collections  # noqa: PLC0415  start-up time

        return Collections(self._settings.collections, self._home, self.environment)

    def reached(self, caller: Caller) -> str:
        """A vault that the caller may use: the home's own, else the first of the others; the home's
        own if there is none."""
        if not caller.sees(HOME) and self.federation is not None:
            for vault in self.federation.known:
                if caller.sees(vault.name):
                    return vault.name
        return HOME

    def untrusted(self) -> Path | None:
        """The project vault that would be searched if it were trusted."""
        return untrusted_vault(self._settings, self._home, self._own, working_folder())

    def close(self) -> None:
        for name in ("_federation", "_collections"):
            if (opened := self.__dict__.get(name)) is not None:
                opened.close()
