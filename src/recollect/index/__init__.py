"""The keyword index as a library of tokens, postings and bytes. It knows no store: SQLite and
PostgreSQL keep its rows and read them back for it."""
