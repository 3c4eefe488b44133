"""A vault in PostgreSQL, which several servers share."""
