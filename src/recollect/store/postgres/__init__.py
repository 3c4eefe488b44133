"""A vault in PostgreSQL; UserError where the package that it needs is not installed."""

from importlib.util import find_spec

from recollect.errors import UserError

if find_spec("psycopg") is None:
    raise UserError(
        "A vault in PostgreSQL (`store.url`) needs a package that is not installed here; "
        "run: pip install 'recollect-memory[postgres]'"
    )
