"""Which memories have changed since a write, as SQL."""

# That the memory with this key has not.
UNCHANGED = "NOT EXISTS (SELECT 1 FROM versions v WHERE v.memory = {key} AND v.write > ?)"
# The keys of those that have.
CHANGED = "SELECT DISTINCT memory FROM versions WHERE write > ?"
