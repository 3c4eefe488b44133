"""Register the MCP server, hooks and instructions in the files of MCP clients."""
