"""What every test can ask for. The fixtures of a folder are a module of their own name there:
mypy checks all files in one run only where no two have the same name."""

from __future__ import annotations

pytest_plugins = ("browser_fixtures", "mcp_fixtures", "planned_search")
