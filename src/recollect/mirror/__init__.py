"""A vault as a folder of Markdown files, kept equal in both directions."""
