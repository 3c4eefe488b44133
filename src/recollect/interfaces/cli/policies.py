"""`recollect policies`."""

from __future__ import annotations

import argparse

from msgspec.structs import asdict

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import BOLD, print_json, styled
from recollect.lifetime import Lifetime
from recollect.present.visible import visible
from recollect.settings import PolicySettings

NONE = (
    "There are no policies. Declare one as [policies.NAME] in config.toml; docs/time.md shows how."
)
FILTERS = ("project", "source", "domain", "kind", "space", "tags")


@command("  recollect policies", add_json)
def policies(args: argparse.Namespace) -> int:
    with opened(lifetime=Lifetime.ONCE) as memory:
        declared = memory.settings.policies
    if args.json:
        print_json({name: asdict(policy) for name, policy in declared.items()})
    else:
        for name, policy in declared.items():
            print(f"{styled(visible(name), BOLD)}: {visible(sentence(policy))}")
        if not declared:
            print(NONE)
    return 0


def sentence(policy: PolicySettings) -> str:
    """What a policy does, as a person would say it."""
    filters = {name: getattr(policy, name) for name in FILTERS if getattr(policy, name)}
    texts = (
        f"{name} {', '.join(value) if isinstance(value, tuple) else value}"
        for name, value in filters.items()
    )
    which = f"captures ({', '.join(texts)})" if filters else "captures"
    spared = ", unless somebody opened or accepted it" if policy.unless_useful else ""
    return {
        "expire": f"forget {which} not changed for {policy.after}{spared}",
        "purge": f"delete {which} permanently that are not changed for {policy.after}{spared}",
        "archive": f"archive {which} neither changed nor used for {policy.after}",
        "cap": f"archive {which} of each project beyond the {policy.most:,} changed or used last",
    }[policy.what]
