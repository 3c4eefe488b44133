"""Connections: how uvicorn serves the application."""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

# How long requests under way may take to finish before they are cut off.
GRACE_S = 3


def server_config(app: ASGIApp) -> uvicorn.Config:
    """How the application is served."""
    return uvicorn.Config(
        app, log_config=None, ws="none", access_log=False, server_header=False, lifespan="on",
        timeout_graceful_shutdown=GRACE_S,
    )  # fmt: skip
