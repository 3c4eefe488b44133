"""Documents: what files of each format say, and how they are split into chunks."""
