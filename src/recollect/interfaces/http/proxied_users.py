"""Users whom a reverse proxy has logged in, and names in a header.

Anybody can send a header. So it counts only where the connection itself comes from the address of
a proxy that the settings name; from elsewhere it is not even looked at. The proxy must remove the
header from what its own clients send.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.types import Scope

from recollect.auth.capabilities import NOBODY, OWNER, Caller
from recollect.auth.credentials import SERVER, UNKNOWN, CredentialCheck
from recollect.auth.token_store import LONGEST_NAME
from recollect.settings import Serve
from recollect.settings_reading import networks

# Who has one of these names in the audit log is not a user.
TAKEN = frozenset({OWNER.name, NOBODY.name, UNKNOWN.name, SERVER.name})


class ProxiedUsers:
    """The users of the proxies in the settings, with what each may do."""

    def __init__(self, settings: Serve) -> None:
        self._settings = settings
        self._proxies = networks(settings.proxies)

    def named(self, scope: Scope, headers: Headers) -> CredentialCheck | None:
        """The user whom a proxy names; None where there is no proxy, or it names nobody."""
        if not self._from_proxy(scope):
            return None
        sent = headers.getlist(self._settings.user_header)
        if not "".join(sent).strip():
            return None
        if len(sent) > 1:
            return CredentialCheck(UNKNOWN, "more than one user header")
        name = _text(sent[0])
        if not name or len(name) > LONGEST_NAME or not name.isprintable() or name in TAKEN:
            return CredentialCheck(UNKNOWN, "unusable user header")
        granted = self._settings.users.get(name, self._settings.user_capabilities)
        capabilities = frozenset(filter(None, map(str.strip, granted.split(","))))
        return CredentialCheck(Caller(name=name, capabilities=capabilities))

    def _from_proxy(self, scope: Scope) -> bool:
        if not self._proxies or not scope.get("client"):
            return False
        address = ip_address(scope["client"][0].partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._proxies)


NO_PROXY = ProxiedUsers(Serve())


def _text(sent: str) -> str:
    """What the bytes of a header say in UTF-8; nothing where they are not."""
    try:
        return sent.encode("latin-1").decode().strip()
    except UnicodeDecodeError:
        return ""
