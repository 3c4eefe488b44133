"""The keyword index as a library: tokens, postings and bytes. It knows no store: SQLite and
PostgreSQL keep what it makes, and read it for it."""
